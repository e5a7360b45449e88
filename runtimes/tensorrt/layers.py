"""Layers of a TensorRT engine: its JSON as values, matrix products and their types, placement and
operator times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from exporters.diagnostics import Diagnostic
from runtimes.execution import NodePlacement, OpTime
from runtimes.session.precision import (
    INTEGER,
    NARROWEST_FIRST,
    UNKNOWN,
    is_matrix_op,
    mixed_precision,
    together,
)

_TYPES = (
    (re.compile(r"bf16|bfloat16", re.IGNORECASE), "bf16"),
    (re.compile(r"fp8|float8|e4m3|e5m2", re.IGNORECASE), "fp8"),
    (re.compile(r"fp4|float4|e2m1", re.IGNORECASE), "fp4"),
    (re.compile(r"fp16|half|float16", re.IGNORECASE), "fp16"),
    (re.compile(r"\bint8", re.IGNORECASE), "int8"),
    (re.compile(r"\bint4", re.IGNORECASE), "int4"),
    (re.compile(r"fp32|float32|\bfloat\b", re.IGNORECASE), "fp32"),
)
_NODE = re.compile(r"\[ONNX Layer: (.+?)\](?=\s*(?:[\x1e\x1f[]|$))")
_MOVES_ONLY = re.compile(r"Reformat|NoOp|Constant|Shuffle|Signal|Wait|Copy", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layer:
    """`nodes` are those of the graph that it was made of, where TensorRT tells them.

    `reads` and `writes` are the types of floats and quantised numbers, in the order of its tensors;
    those of other tensors, such as indices and shapes, are left out.
    """

    name: str
    kind: str
    tactic: str = ""
    nodes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def computes(self) -> bool:
        """Whether it does more than move data."""
        return not _MOVES_ONLY.search(self.kind)


def layers_of(layers_text: str) -> tuple[Layer, ...]:
    """Those that are described; one of which there is a name alone is left out."""
    layers = json.loads(layers_text).get("Layers", ())
    return tuple(_layer(layer) for layer in layers if isinstance(layer, dict))


def described_layers(layers_text: str) -> tuple[Layer, ...]:
    """All layers; ValueError if the text has no details of them."""
    layers = json.loads(layers_text).get("Layers")
    if not layers or not all(isinstance(layer, dict) for layer in layers):
        raise ValueError("the engine was built without its layers' details")
    return layers_of(layers_text)


def nodes_in(metadata: str) -> tuple[str, ...]:
    """The graph's nodes that TensorRT names so."""
    return tuple(_NODE.findall(metadata))


def _layer(layer: Mapping[str, Any]) -> Layer:
    return Layer(
        name=str(layer["Name"]),
        kind=str(layer.get("LayerType", UNKNOWN)),
        tactic=str(layer.get("TacticName") or ""),
        nodes=nodes_in(str(layer.get("Metadata", ""))),
        reads=tuple(_types(layer.get("Inputs", ()))),
        writes=tuple(_types(layer.get("Outputs", ()))),
    )


def _types(tensors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for tensor in tensors:
        name = _type_of(tensor)
        if name:
            yield name


def _type_of(tensor: Mapping[str, Any]) -> str:
    for field in ("DataType", "Format/Datatype", "Format"):
        text = str(tensor.get(field, ""))
        for pattern, name in _TYPES:
            if pattern.search(text):
                return name
    return ""


Operators = Callable[[], Mapping[str, str]]
"""The operators of the graph's nodes by their names; asked only where a layer leaves a doubt."""

_PRODUCT = re.compile(
    r"conv(?!ert)|correlation|gemm|matmul|matrix_?mult|fully_?connected|einsum|attention|mha|"
    r"rnn|lstm|gru",
    re.IGNORECASE,
)
_FUSION_NAME = re.compile(r"kgen|myelin|foreign|fusion", re.IGNORECASE)
# What the compiler calls a fused layer that only brings numbers into another type or place.
_MOVES = re.compile(r"__myl_(?:Cast|Conc|Move|Resh|Slic|Tran)+_myl\d+_\d+")
# What a kernel of NVIDIA's is given and what it multiplies, as its name tells:
# `sm80_xmma_gemm_f16f16_f16f16_f16_nn_n`, `..._f32f32_tf32f32_f32_...`. The first is from
# github.com/NVIDIA/TensorRT/issues/4397.
_TYPE = r"[a-z]+\d+(?:m[23])?"
_OPERANDS = re.compile(rf"_(?P<given>{_TYPE})(?P=given)_(?P<multiplied>{_TYPE})")
_OPERAND_TYPES = {
    **dict.fromkeys(("e4m3", "e5m2"), "fp8"),
    **dict.fromkeys(("i8", "s8", "u8"), "int8"),
    **{"f16": "fp16", "bf16": "bf16", "f32": "fp32", "tf32": "tf32"},
}


def claimed(layers: Iterable[Layer], operators: Operators) -> tuple[str, tuple[Diagnostic, ...]]:
    """The types of the products of an engine, or of all that computes where there are none.

    Where they differ all are named, narrowest first, and a warning tells the layers in a wider one.
    """
    computing = [layer for layer in layers if layer.computes and precision_of(layer) != INTEGER]
    deciding = _deciding(computing, operators) or computing
    if not deciding:
        return INTEGER, ()
    precisions = {layer.name: precision_of(layer) for layer in deciding}
    precision = together(precisions.values())
    narrowest, *wider = precision.split("+")
    if not wider:
        return precision, ()
    layer_texts = [
        f"{layer.kind} {layer.name!r} in {precisions[layer.name]}"
        for layer in deciding
        if precisions[layer.name] != narrowest
    ]
    return precision, (mixed_precision(narrowest, layer_texts),)


def precision_of(layer: Layer) -> str:
    """What a layer computes in; `integer` for one of no floats.

    The name of its kernel tells a product's operands. Else it is the first that a product reads:
    what comes after may be weights that are widened first, a bias or what is added. Of any other
    layer, a fused one among them, it is the widest that it reads: what is inside is not told.
    """
    operands = _OPERANDS.search(layer.tactic)
    if operands and operands["multiplied"] in _OPERAND_TYPES:
        return _OPERAND_TYPES[operands["multiplied"]]
    if layer.reads and _PRODUCT.search(layer.kind):
        return layer.reads[0]
    return max(layer.reads or layer.writes, key=NARROWEST_FIRST.index, default=INTEGER)


def _deciding(computing: Sequence[Layer], operators: Operators) -> list[Layer]:
    products = [layer for layer in computing if _PRODUCT.search(layer.kind)]
    fusions = [
        layer for layer in computing if layer not in products and _FUSION_NAME.search(layer.kind)
    ]
    if not fusions:
        return products
    node_operators = operators() if any(layer.nodes for layer in fusions) else {}
    # What is computed before and after a product goes by its node too, and multiplies nothing.
    product_nodes = {node for layer in products for node in layer.nodes}
    doubtful = []
    for layer in fusions:
        if _MOVES.fullmatch(layer.name):
            continue
        if any(
            is_matrix_op(node_operators.get(node, "")) for node in {*layer.nodes} - product_nodes
        ):
            products.append(layer)
        elif not layer.nodes or not node_operators.keys() >= {*layer.nodes}:
            doubtful.append(layer)
    widest = max((_width(layer) for layer in products), default=-1)
    return products + [layer for layer in doubtful if _width(layer) > widest]


def _width(layer: Layer) -> int:
    return NARROWEST_FIRST.index(precision_of(layer))


def placement(layers: Sequence[Layer], provider: str) -> tuple[NodePlacement, ...]:
    """One entry a layer that computes."""
    return tuple(
        NodePlacement(layer.name, layer.kind, provider, precision_of(layer))
        for layer in layers
        if layer.computes
    )


def op_times(layers_text: str, spent_ms: Sequence[Mapping[str, float]]) -> tuple[OpTime, ...]:
    """The median times of the layers from `spent_ms`, what each took in each run.

    A layer is the work of the ONNX nodes that it was made of, where TensorRT tells them, and
    goes by the name of its kernel, where it has one of its own.
    """
    layers = {layer.name: layer for layer in layers_of(layers_text)}
    return tuple(
        _op_time(
            layers.get(name, Layer(name, UNKNOWN)),
            median(run.get(name, 0.0) for run in spent_ms) * 1e3,
        )
        for name in dict.fromkeys(name for run in spent_ms for name in run)
    )


def _op_time(layer: Layer, time_us: float) -> OpTime:
    return OpTime(
        node=" + ".join(layer.nodes) or layer.name,
        op=layer.kind,
        time_us=time_us,
        engine_name=layer.tactic or layer.name,
        holds=layer.nodes,
    )
