"""Nodes of operators that compute each element by itself, with broadcasting."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.differential.draft import Draft, generator, kind_of

SPECIAL = 0.1
WIDE = 0.15
"""How often elements are large: exponentials overflow, and 8-bit integers wrap around."""
UNARY = (
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
)
BINARY = (
    "Add",
    "And",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Mul",
    "Or",
    "Sub",
    "Xor",
)
_DOMAIN = {
    "Acos": (-1.0, 1.0),
    "Acosh": (1.0, 5.0),
    "Asin": (-1.0, 1.0),
    "Atanh": (-0.95, 0.95),
    "Log": (0.01, 9.0),
    "Sqrt": (0.0, 9.0),
    "Reciprocal": (0.2, 3.0),
    "Round": (-4.0, 4.0),
}


@generator(*UNARY)
def unary(d: Draft) -> None:
    param = d.schema.type_constraints[0].type_param_str
    low, high = _DOMAIN.get(d.operator, (-4.0, 4.0))
    if d.operator not in _DOMAIN and d.chance(WIDE):
        low, high = -120.0, 120.0
    x = d.tensor(d.shape(), param, low, high, special=SPECIAL)
    if d.operator == "Round" and kind_of(x.dtype) == "f" and d.chance():
        d.inputs[0] = np.asarray(np.floor(x) + 0.5).astype(x.dtype)
    for name in ("alpha", "beta", "gamma", "lambd", "bias"):
        d.maybe(0.5, **{name: d.real(0.1, 2.0)})
    d.maybe(approximate=d.pick(["none", "tanh"]))


@generator("IsInf")
def is_inf(d: Draft) -> None:
    d.tensor(d.shape(), "T1", special=0.8)
    d.maybe(detect_negative=d.integer(0, 1), detect_positive=d.integer(0, 1))


@generator("Clip")
def clip(d: Draft) -> None:
    dtype = d.tensor(d.shape(), special=SPECIAL).dtype
    d.add(d.values([], dtype, -3, 1) if d.chance(0.7) else None, "min")
    d.add(d.values([], dtype, -1, 3) if d.chance(0.7) else None, "max")


@generator(*BINARY)
def binary(d: Draft) -> None:
    param = d.schema.type_constraints[0].type_param_str
    shape = d.shape()
    other_shapes = [shape, d.broadcast(shape)]
    if d.chance():
        other_shapes.reverse()
    reach = 120 if d.chance(WIDE) else 3
    for sizes in other_shapes:
        d.tensor(sizes, param, -reach, reach, special=SPECIAL)


@generator("Div", "Mod")
def division(d: Draft) -> None:
    shape = d.shape()
    dtype = d.tensor(shape, "T", -9, 9).dtype
    divisors = d.values(d.broadcast(shape), dtype, 1, 4)
    if dtype.kind in "fi" and d.chance():
        divisors = -divisors
    d.add(np.asarray(divisors))
    if dtype.kind == "f":
        d.set(fmod=1)
    else:
        d.maybe(fmod=d.integer(0, 1))


@generator("Pow")
def power(d: Draft) -> None:
    shape = d.shape()
    whole = kind_of(d.dtype("T")) != "f"
    d.tensor(shape, "T", 0 if whole else 0.2, 3)
    exponent = "T1" if d.allowed("T1") else "T"
    d.tensor(d.broadcast(shape), exponent, 0 if whole else -2, 3)


@generator("PRelu")
def prelu(d: Draft) -> None:
    shape = d.shape(1)
    d.tensor(shape)
    d.tensor(d.broadcast(shape))


@generator("Max", "Min", "Mean", "Sum")
def variadic(d: Draft) -> None:
    shape = d.shape()
    for _ in range(d.integer(1, 4)):
        d.tensor(d.broadcast(shape) if d.chance() else shape, special=SPECIAL / 2)


@generator("Where")
def where(d: Draft) -> None:
    shape = d.shape()
    d.add(d.values(d.broadcast(shape), np.bool_))
    d.tensor(d.broadcast(shape) if d.chance() else shape)
    d.tensor(d.broadcast(shape) if d.chance() else shape)


def _castable(d: Draft, source: np.dtype, target: np.dtype) -> np.ndarray:
    if kind_of(source) == "O" != kind_of(target):
        return np.asarray(d.rng.choice(["0", "1", "7", "+2"], d.shape())).astype(object)
    negative = kind_of(target) in "fibO" and kind_of(source) != "u"
    if "int4" in (target.name, source.name):
        return d.values(d.shape(), source, -8 if negative else 0, 7)
    return d.values(d.shape(), source, -99 if negative else 0, 99)


@generator("Cast")
def cast(d: Draft) -> None:
    source, target = d.dtype("T1"), d.dtype("T2")
    d.add(_castable(d, source, target))
    d.set(to=helper.np_dtype_to_tensor_dtype(target))
    d.maybe(0.2, saturate=d.integer(0, 1))


@generator("CastLike")
def cast_like(d: Draft) -> None:
    source, target = d.dtype("T1"), d.dtype("T2")
    d.add(_castable(d, source, target))
    d.add(d.values(d.shape(), target))


@generator("Dropout")
def dropout(d: Draft) -> None:
    d.tensor(d.shape(1))
    if d.chance():
        d.add(np.float32(d.real(0, 0.9)), "ratio")
    d.outputs = d.integer(1, 2)


@generator("QuantizeLinear", "DequantizeLinear")
def quantise(d: Draft) -> None:
    shape = d.shape(1, 4)
    axis = d.axis(len(shape))
    in_blocks = "block_size" in d.schema.attributes and d.chance(0.3)
    per_axis = "axis" in d.schema.attributes and d.chance()
    sizes: list[int] = [shape[axis]] if per_axis else []
    if in_blocks:
        block = d.integer(1, 3)
        sizes = list(shape)
        sizes[axis] = -(-shape[axis] // block)
        d.set(block_size=block)
    if in_blocks or per_axis:
        d.set(axis=axis)
    forward = d.operator == "QuantizeLinear"
    names = d.allowed("T2" if forward and d.version < 23 else "T3" if forward else "T1")
    names = names or d.allowed("T")
    code = d.dtype_of([name for name in names if name != "int32" or not forward])
    is_float = kind_of(code) == "f"
    least, most = -200, 200
    scale = d.values(
        sizes, d.pick([np.float32, np.float32, d.dtype("T1" if forward else "T2", "f")])
    )
    scale = np.asarray(np.abs(scale) * 0.05 + 0.01).astype(scale.dtype)
    if forward:
        d.add(d.values(shape, scale.dtype, -9, 9))
    else:
        d.add(d.values(shape, code, least, most))
    d.add(scale, constant=0.5)
    is_zero = is_float or code == np.int32
    zero = np.zeros(sizes, code) if is_zero else d.values(sizes, code, least, most)
    if not forward or code == np.uint8:
        d.add(zero if d.chance(0.7) else None, constant=0.5)
    else:
        d.add(zero, constant=0.5)
