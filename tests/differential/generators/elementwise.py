"""Nodes of operators that compute each element by itself, with broadcasting."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.differential.draft import Draft, generator

SPECIAL = 0.1
WIDE = 0.15
"""How often elements are large: exponentials overflow, and 8-bit integers wrap around."""
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


def unary(d: Draft) -> None:
    param = d.schema.type_constraints[0].type_param_str
    low, high = _DOMAIN.get(d.operator, (-4.0, 4.0))
    if d.operator not in _DOMAIN and d.chance(WIDE):
        low, high = -120.0, 120.0
    x = d.tensor(d.shape(), param, low, high, special=SPECIAL)
    if d.operator == "Round" and x.dtype.kind == "f" and d.chance():
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


def binary(d: Draft) -> None:
    param = d.schema.type_constraints[0].type_param_str
    shape = d.shape()
    other_shapes = [shape, d.broadcast(shape)]
    if d.chance():
        other_shapes.reverse()
    reach = 120 if d.chance(WIDE) else 3
    for sizes in other_shapes:
        d.tensor(sizes, param, -reach, reach, special=SPECIAL)


@generator("Div")
def division(d: Draft) -> None:
    shape = d.shape()
    dtype = d.tensor(shape, "T", -9, 9).dtype
    divisors = d.values(d.broadcast(shape), dtype, 1, 4)
    if dtype.kind in "fi" and d.chance():
        divisors = -divisors
    d.add(np.asarray(divisors))


@generator("Pow")
def power(d: Draft) -> None:
    shape = d.shape()
    whole = d.dtype("T").kind != "f"
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


@generator("Cast")
def cast(d: Draft) -> None:
    source, target = d.dtype("T1"), d.dtype("T2")
    is_unsigned = "u" in (source.kind, target.kind)
    d.add(d.values(d.shape(), source, 0 if is_unsigned else -99, 99))
    d.set(to=helper.np_dtype_to_tensor_dtype(target))


@generator("Dropout")
def dropout(d: Draft) -> None:
    d.tensor(d.shape(1))
    if d.chance():
        d.add(np.float32(d.real(0, 0.9)), "ratio")
    d.outputs = d.integer(1, 2)
