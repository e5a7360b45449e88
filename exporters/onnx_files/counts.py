"""Computation of a graph: parameters, multiply-accumulates, constants, and the types and products
that bound its errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.inliner import inline_local_functions

from exporters.engine_values import input_values
from exporters.inputs import cast_inputs
from exporters.onnx_files.engine import WEIGHTS_FOLDER, opened
from exporters.onnx_files.graph import (
    Shape,
    ShapeConflict,
    inferred,
    inner_graphs,
    known_shapes,
    nodes_of,
    reads,
)
from exporters.onnx_files.products import node_macs, packed_elements
from exporters.source import Counts
from exporters.types import Made, TensorSpec, is_engine_format, load_reference

_PRODUCT = re.compile(r"Conv(?!ert)|Gemm|MatMul|Einsum|LSTM|GRU|RNN|Attention")
_PASSES_WEIGHTS_ON = frozenset(
    (
        *("Cast", "CastLike", "DequantizeLinear", "Identity", "Reshape", "Squeeze"),
        *("Transpose", "Unsqueeze"),
    )
)
_NARROW = (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4, TensorProto.UINT4)
_NAMES: dict[int, str] = {
    **dict.fromkeys((*_NARROW, TensorProto.INT2, TensorProto.UINT2), "int8"),
    **dict.fromkeys((TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2), "fp8"),
    TensorProto.BFLOAT16: "bf16",
    TensorProto.FLOAT16: "fp16",
    TensorProto.FLOAT: "fp32",
}
"""Integers of 8 bits and fewer are judged as int8."""
_INTEGERS = frozenset(
    TensorProto.DataType.Value(name)
    for name in (
        *("BOOL", "INT2", "UINT2", "INT4", "UINT4", "INT8", "UINT8"),
        *("INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"),
    )
)
_COARSEST_FIRST = ("fp8", "int8", "bf16", "fp16", "fp32")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """As `ExportedModel` has them."""

    narrowest: str
    depth: int
    is_integer: bool = False
    bounded: tuple[str, ...] = ()


def told(folder: Path, graph: Path) -> Made:
    """The step: of a graph that the store holds. One in ONNX Runtime's own format is not read."""
    if is_engine_format(graph):
        return Made({}, Arithmetic("fp32", 0))
    return Made({}, arithmetic(onnx.load(graph, load_external_data=False)))


def arithmetic(model: ModelProto) -> Arithmetic:
    """Of a graph whose external weights need not be loaded.

    `narrowest` is taken over the operands of its products, followed back to where weights are
    stored in a narrower type than they are multiplied in; over all tensors where there is none.
    """
    if model.functions:
        model = inline_local_functions(model)
    nodes = list(nodes_of(model.graph))
    types = _types(model, nodes)
    maker = {name: node for node in nodes for name in node.output if name}
    products = [node for node in nodes if _PRODUCT.search(node.op_type)]
    weight_bytes = {
        types[name]
        for node in products
        for operand in node.input
        for name in _stored_as(operand, maker)
        if name in types
    }
    names = {
        _NAMES[kind] for kind in (weight_bytes if products else types.values()) if kind in _NAMES
    }
    if not products:
        names -= {"int8", "fp8"}
    return Arithmetic(
        min(names, key=_COARSEST_FIRST.index, default="fp32"),
        _depth(nodes),
        bool(types) and _INTEGERS.issuperset(types.values()),
        tuple(value.name for value in model.graph.output if _is_bounded(value.name, maker)),
    )


_BOUNDED = frozenset({"Softmax", "Sigmoid", "HardSigmoid", "Tanh", "Softsign", "Sin", "Cos"})
_MOVES = frozenset({*_PASSES_WEIGHTS_ON, "Concat", "Flatten", "Gather", "QuantizeLinear", "Slice"})


def _is_bounded(name: str, maker: Mapping[str, NodeProto]) -> bool:
    """Whether a value lies between -1 and 1, or is moved from such values."""
    names = [name]
    while names:
        node = maker.get(names.pop())
        if node is None or node.op_type not in _BOUNDED | _MOVES:
            return False
        if node.op_type in _MOVES:
            names += node.input if node.op_type == "Concat" else node.input[:1]
    return True


def _types(model: ModelProto, nodes: list[NodeProto]) -> dict[str, int]:
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    for node in nodes:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.HasField("t"):
                types[node.output[0]] = attribute.t.data_type
    try:
        values = inferred(model)
    except ShapeConflict:  # what is stored is known even so
        return types
    return {name: value.type.tensor_type.elem_type for name, value in values.items()} | types


def _stored_as(operand: str, maker: Mapping[str, NodeProto]) -> Iterator[str]:
    """The operand, and what it is but another form of."""
    yield operand
    while operand in maker and maker[operand].op_type in _PASSES_WEIGHTS_ON:
        operand = maker[operand].input[0]
        yield operand


def _depth(nodes: list[NodeProto]) -> int:
    depths: dict[str, int] = {}
    for node in nodes:
        input_depth = max((depths.get(name, 0) for name in reads(node)), default=0)
        output_depth = input_depth + bool(_PRODUCT.search(node.op_type))
        depths.update((name, output_depth) for name in node.output)
    return max(depths.values(), default=0)


_SAME_VALUES = _PASSES_WEIGHTS_ON | {"Expand", "Flatten", "QuantizeLinear", "Tile"}
"""Operators whose output has the values of the first input in another form."""
_SHAPE_OPERATORS = frozenset({"EyeLike", "Range", "Shape", "Size"})
_RANDOM = ("Random", "Bernoulli", "Multinomial")


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant of the graph; `key` tells it from those of inner graphs that are called alike.

    `kind` is its TensorProto type. Both are None where inference does not know them. A constant
    that is made from sizes is not `stored`.
    """

    key: str
    kind: int | None
    shape: Shape | None
    stored: bool = True


Constants = Mapping[str, Weight]
"""The weight behind each constant tensor of a graph, by the tensor's name."""


@dataclass(frozen=True, slots=True)
class Read:
    """A weight that a node takes together with data; `place` is None for an inner graph's result.

    `kind` is the type in which it is read.
    """

    weight: Weight
    node: NodeProto | None
    place: int | None
    kind: int | None


def constants(graph: GraphProto, values: Mapping[str, ValueInfoProto]) -> Constants:
    """The constant tensors of the outer graph."""
    weights: dict[str, Weight] = {}
    for _ in _walk(graph, weights, values, ""):
        pass
    return weights


def _walk(
    graph: GraphProto,
    weights: dict[str, Weight],
    values: Mapping[str, ValueInfoProto],
    prefix: str,
) -> Iterator[Read]:
    """Adds the graph's constants to `weights` on the way."""
    shapes = known_shapes(values)
    for tensor in graph.initializer:
        weights[tensor.name] = _weight_of_tensor(tensor, f"{prefix}{tensor.name}")
    for number, node in enumerate(graph.node):
        names = [name for name in node.input if name]
        inner = list(inner_graphs(node))
        is_random = node.op_type.startswith(_RANDOM)
        if not inner and not is_random and all(name in weights for name in names):
            for output in filter(None, node.output):
                kind = _kind(values, output)
                output_weight = Weight(f"{prefix}{output}", kind, shapes.get(output))
                weights[output] = _fold_constant(node, output_weight, weights)
            continue
        for place, name in enumerate(node.input):
            if name in weights:
                kind = _kind(values, name)
                weight = weights[name]
                yield Read(weight, node, place, weight.kind if kind is None else kind)
        for place, part in enumerate(inner):
            # Names inside are the inner graph's own, whatever inference says of equal ones outside.
            inner_weights = dict(weights)
            yield from _walk(part, inner_weights, {}, f"{prefix}{number}.{place}/")
            for value in part.output:
                if value.name in inner_weights:
                    weight = inner_weights[value.name]
                    yield Read(weight, None, None, weight.kind)


def _fold_constant(node: NodeProto, made: Weight, known: Mapping[str, Weight]) -> Weight:
    """The weight that the output of a node over constants is."""
    taken = [known[name] for name in node.input if name]
    if node.op_type == "Constant":
        tensors = [a.t for a in node.attribute if a.name == "value"]
        return _weight_of_tensor(tensors[0], made.key) if tensors else made
    if node.op_type in _SAME_VALUES and taken:
        return taken[0]
    if node.op_type in _SHAPE_OPERATORS or not any(weight.stored for weight in taken):
        return Weight(made.key, made.kind, made.shape, stored=False)
    return made


def _weight_of_tensor(tensor: TensorProto, key: str) -> Weight:
    return Weight(key, tensor.data_type, tuple(tensor.dims))


def _kind(values: Mapping[str, ValueInfoProto], name: str) -> int | None:
    return values[name].type.tensor_type.elem_type if name in values else None


_WEIGHT_TYPES = frozenset({*_NAMES, TensorProto.DOUBLE})
_ONNX_DOMAINS = ("", "ai.onnx")
_RUNNING_STATISTICS = {"BatchNormalization": (3, 4)}
_NO_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    # Sequence lengths and first states: data, even where they are constant.
    "LSTM": (4, 5, 6),
    **dict.fromkeys(("GRU", "RNN"), (4, 5)),
    # The scales and zero points of quantised tensors.
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), (1, 2)),
    "QLinearConv": (1, 2, 4, 5, 6, 7),
    "QLinearMatMul": (1, 2, 3, 4, 5, 6, 7),
    **dict.fromkeys(("ConvInteger", "MatMulInteger"), (2, 3)),
    # Sizes, places and bounds, which say how a node computes.
    **dict.fromkeys(("AffineGrid", "CenterCropPad", "Expand", "GridSample", "Upsample"), (1,)),
    **dict.fromkeys(("Clip", "Dropout", "OneHot", "RoiAlign"), (1, 2)),
    **dict.fromkeys(("Pad", "Resize"), (1, 2, 3)),
    "NonMaxSuppression": (2, 3, 4),
}
"""By operator, the inputs that hold no weights."""


UNKNOWN = Counts(None, None, None)


def count(model: ModelProto, point: Mapping[str, int]) -> Counts:
    """Weights of the graph, and the multiply-accumulates of one run at this point.

    `parameters` are the elements of every constant of at least one dimension, in floating
    point or 8 bits, that a node reads together with data, each constant once; running statistics
    of norms count only in `parameters_with_buffers`. `macs` covers convolutions, matrix products
    and recurrent layers with the formulas of `exporters.pytorch.counts`; products of two
    activations count too.
    """
    if model.functions:
        model = inline_local_functions(model)
    try:
        values = inferred(model, point)
    except ShapeConflict:
        return UNKNOWN
    weights, buffers = _weights(model.graph, values)
    return Counts(
        weights,
        None if weights is None else weights + buffers,
        total_macs(model, values, known_shapes(values)),
    )


def _weights(graph: GraphProto, values: Mapping[str, ValueInfoProto]) -> tuple[int | None, int]:
    """Elements of the weights, and of the running statistics.

    Not known where some are no tensors of the graph: of fitted trees and vectors, attributes.
    """
    if graph.sparse_initializer or any(map(_holds_numbers, nodes_of(graph))):
        return None, 0
    totals = {True: 0, False: 0}
    keys: set[str] = set()
    products = {
        out for node in nodes_of(graph) if _PRODUCT.search(node.op_type) for out in node.output
    }
    for read in _walk(graph, {}, values, ""):
        operator = read.node.op_type if read.node is not None else ""
        weight = read.weight
        is_other = read.place in _NO_WEIGHTS.get(operator, ())
        if is_other or not weight.stored or weight.key in keys:
            continue
        if read.kind is None or weight.shape is None:
            return None, 0
        keys.add(weight.key)
        if weight.shape and read.kind in _WEIGHT_TYPES:
            elements = packed_elements(read.node, read.place) or prod(weight.shape)
            if elements == 1 and not _takes_a_weight(read.node, products):
                continue
            totals[read.place in _RUNNING_STATISTICS.get(operator, ())] += elements
    return totals[False], totals[True]


_NORMS = re.compile(r"Normalization|PRelu")


def _takes_a_weight(node: NodeProto | None, products: Collection[str]) -> bool:
    """Whether one element that a node reads is a weight, and not a number of a formula."""
    if node is None:
        return False
    if _PRODUCT.search(node.op_type) or _NORMS.search(node.op_type):
        return True
    return node.op_type == "Add" and any(name in products for name in node.input)


def total_macs(
    model: ModelProto, values: Mapping[str, ValueInfoProto], shapes: Mapping[str, Shape]
) -> int | None:
    """None if a product has an unknown shape, lies in an inner graph, or has no formula."""
    weights = constants(model.graph, values)
    total = 0
    for node in model.graph.node:
        if any(name in weights for name in node.output if name):
            continue  # it is computed once, when the graph is loaded
        macs = node_macs(node, shapes)
        if macs is None:
            return None
        total += macs
    return total


def _holds_numbers(node: NodeProto) -> bool:
    return node.domain not in _ONNX_DOMAINS and any(
        attribute.floats or attribute.HasField("t") for attribute in node.attribute
    )


MACS = "macs"
_KERNEL = "_kernel_time"
_MOST_EVENTS = 1_000_000
"""Where ONNX Runtime ends a recording."""


def counted(
    folder: Path,
    graph: Path,
    reference: str,
    inputs: tuple[TensorSpec, ...],
    custom_ops: tuple[str, ...],
) -> Made:
    """The step: the multiply-accumulates of a run on the inputs of a reference's file; None if the
    run fails, or some product has no formula."""
    try:
        return Made({}, {MACS: _macs(graph, reference, inputs, custom_ops)})
    except Exception:  # of the engine, which may refuse what another one runs
        return Made({}, {MACS: None})


def _macs(
    path: Path, reference: str, inputs: tuple[TensorSpec, ...], custom_ops: tuple[str, ...]
) -> int | None:
    """From the engine's recording, which has each kernel as often as it ran, with its shapes."""
    model = onnx.load(path, load_external_data=False)
    if model.functions:
        model = inline_local_functions(model)
    weights = constants(model.graph, {})
    nodes = {}
    for number, node in enumerate(nodes_of(model.graph)):
        node.name = str(number)
        if not any(name in weights for name in node.output if name):  # else computed at loading
            nodes[f"{node.name}{_KERNEL}"] = node
    feeds = input_values(inputs, cast_inputs(load_reference(reference).inputs, inputs))
    total = 0
    with TemporaryDirectory(prefix="graphlap-macs-") as scratch:
        # A weight that a kernel has packed for itself is not in the recording.
        entries = {WEIGHTS_FOLDER: str(path.parent), "session.disable_prepacking": "1"}
        recording = Path(scratch, "run")
        session = opened(model.SerializeToString(), custom_ops, entries, recording)
        session.run_with_ort_values([value.name for value in model.graph.output], feeds)
        events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    if len(events) >= _MOST_EVENTS:
        return None
    for event in events:
        if event["name"] not in nodes:
            continue
        node = nodes[event["name"]]
        if any(inner_graphs(node)):
            continue
        shapes: dict[str, Shape] = {}
        for names, place in ((node.input, "input"), (node.output, "output")):
            held = [shape for of in event["args"][f"{place}_type_shape"] for shape in of.values()]
            present = [name for name in names if name]
            if len(held) == len(present):  # some may be no tensors
                shapes |= zip(present, map(tuple, held), strict=True)
        macs = node_macs(node, shapes)
        if macs is None:
            return None
        total += macs
    return total
