"""Arithmetic, element by element, with numpy's broadcasting, which is ONNX's since opset 7."""

from __future__ import annotations

from functools import reduce

import numpy as np

from runtimes.fpga.numerics.operator import Kernel, operator

_ROUNDED_UNARY: dict[str, Kernel] = {
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Reciprocal": np.reciprocal,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
}
_EXACT_UNARY: dict[str, Kernel] = {
    "Neg": np.negative,
    "Abs": np.abs,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Sign": np.sign,
}
_BINARY: dict[str, Kernel] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
}


def _enter(name: str, function: Kernel, oldest: int = 1, exact: bool = False) -> None:
    operator(name, oldest=oldest, exact=exact)(lambda _call: function)


for _name, _function in _ROUNDED_UNARY.items():
    _enter(_name, _function)
for _name, _function in _EXACT_UNARY.items():
    _enter(_name, _function, exact=True)
for _name, _function in _BINARY.items():
    _enter(_name, _function, oldest=7)

_enter("Sum", lambda *x: reduce(np.add, x))
_enter("Mean", lambda *x: reduce(np.add, x) / np.float32(len(x)))
_enter("Min", lambda *x: reduce(np.minimum, x), exact=True)
_enter("Max", lambda *x: reduce(np.maximum, x), exact=True)
