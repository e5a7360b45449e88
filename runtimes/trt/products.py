"""Which layers of an engine multiply matrices, in which types, and what a row may claim of it.

What TensorRT names as a product is one. A layer that its compiler fused (`kgen`) has no name of its
own: it is a product if a node that it was made of is one. Where nobody can say, a layer may make
a claim wider and never narrower.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.session.precision import (
    INTEGER,
    NARROWEST_FIRST,
    is_matrix_op,
    mixed_precision,
    together,
)
from runtimes.trt.layers import Layer

Operators = Callable[[], Mapping[str, str]]
"""The operators of the graph's nodes by their names; asked only where a layer leaves a doubt."""

_PRODUCT = re.compile(
    r"conv(?!ert)|correlation|gemm|matmul|matrix_?mult|fully_?connected|einsum|attention|mha|"
    r"rnn|lstm|gru",
    re.IGNORECASE,
)
_FUSED = re.compile(r"kgen|myelin|foreign|fusion", re.IGNORECASE)
# What the compiler calls a fused layer that only brings numbers into another type or place.
_MOVES = re.compile(r"__myl_(?:Cast|Conc|Move|Resh|Slic|Tran)+_myl\d+_\d+")
# What a kernel of NVIDIA's is given and what it multiplies, as its name tells:
# `sm80_xmma_gemm_f16f16_f16f16_f16_nn_n`, `..._f32f32_tf32f32_f32_...`. The first is from
# github.com/NVIDIA/TensorRT/issues/4397.
_TYPE = r"[a-z]+\d+(?:m[23])?"
_OPERANDS = re.compile(rf"_(?P<given>{_TYPE})(?P=given)_(?P<multiplied>{_TYPE})")
_OF_OPERAND = {
    "e4m3": "fp8",
    "e5m2": "fp8",
    "i8": "int8",
    "s8": "int8",
    "u8": "int8",
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "tf32": "tf32",
}


def claimed(layers: Iterable[Layer], operators: Operators) -> tuple[str, tuple[Diagnostic, ...]]:
    """The types of the products of an engine, or of all that computes where there are none.

    Where they differ all are named, narrowest first, and a warning tells the layers in a wider one.
    """
    computing = [layer for layer in layers if layer.computes and precision_of(layer) != INTEGER]
    deciding = _deciding(computing, operators) or computing
    if not deciding:
        return INTEGER, ()
    found = {layer.name: precision_of(layer) for layer in deciding}
    precision = together(found.values())
    narrowest, *wider = precision.split("+")
    if not wider:
        return precision, ()
    named = [
        f"{layer.kind} {layer.name!r} in {found[layer.name]}"
        for layer in deciding
        if found[layer.name] != narrowest
    ]
    return precision, (mixed_precision(narrowest, named),)


def precision_of(layer: Layer) -> str:
    """What a layer computes in; `integer` for one of no floats.

    The name of its kernel tells a product's operands. Else it is the first that a product reads:
    what comes after may be weights that are widened first, a bias or what is added. Of any other
    layer, a fused one among them, it is the widest that it reads: what is inside is not told.
    """
    operands = _OPERANDS.search(layer.tactic)
    if operands and operands["multiplied"] in _OF_OPERAND:
        return _OF_OPERAND[operands["multiplied"]]
    if layer.reads and _PRODUCT.search(layer.kind):
        return layer.reads[0]
    return max(layer.reads or layer.writes, key=NARROWEST_FIRST.index, default=INTEGER)


def _deciding(computing: Sequence[Layer], operators: Operators) -> list[Layer]:
    products = [layer for layer in computing if _PRODUCT.search(layer.kind)]
    fused = [layer for layer in computing if layer not in products and _FUSED.search(layer.kind)]
    if not fused:
        return products
    known = operators() if any(layer.nodes for layer in fused) else {}
    # What is computed before and after a product goes by its node too, and multiplies nothing.
    multiplied = {node for layer in products for node in layer.nodes}
    doubtful = []
    for layer in fused:
        if _MOVES.fullmatch(layer.name):
            continue
        if any(is_matrix_op(known.get(node, "")) for node in {*layer.nodes} - multiplied):
            products.append(layer)
        elif not layer.nodes or not known.keys() >= {*layer.nodes}:
            doubtful.append(layer)
    widest = max((_width(layer) for layer in products), default=-1)
    return products + [layer for layer in doubtful if _width(layer) > widest]


def _width(layer: Layer) -> int:
    return NARROWEST_FIRST.index(precision_of(layer))
