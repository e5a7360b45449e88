"""Draws of operators that work element by element, and of comparisons and casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from onnx import TensorProto

from tests.differential_lowered.draw import Dice, Draw, node_draw

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL

UNARY = (
    *("Relu", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "HardSwish", "Mish", "Exp"),
    *("Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh"),
    *("Asinh", "Acosh", "Atanh", "Neg", "Abs", "Floor", "Ceil", "Round", "Sign", "Identity"),
)
WITH_NUMBERS = {
    "LeakyRelu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "Elu": ("alpha",),
    "Celu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "Swish": ("alpha",),
    "Shrink": ("bias", "lambd"),
}
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "PRelu")
VARIADIC = ("Sum", "Mean", "Min", "Max")
COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
LOGICAL = ("And", "Or", "Xor")


def unary(op: str, dice: Dice) -> Draw:
    return node_draw(dice, op, dice.opset(op), [dice.floats(*dice.shape())])


def with_numbers(op: str, dice: Dice) -> Draw:
    numbers = {
        name: dice.pick([0.0, 0.5, 1.0, 2.0, -1.5, 0.1])
        for name in WITH_NUMBERS[op]
        if dice.chance(0.6)
    }
    if op == "Celu" and numbers.get("alpha") == 0:
        del numbers["alpha"]
    return node_draw(dice, op, dice.opset(op), [dice.floats(*dice.shape())], numbers)


def gelu(dice: Dice) -> Draw:
    attributes = {"approximate": dice.pick([None, "none", "tanh"])}
    return node_draw(dice, "Gelu", dice.opset("Gelu"), [dice.floats(*dice.shape())], attributes)


def clip(dice: Dice) -> Draw:
    opset = dice.opset("Clip")
    x = dice.floats(*dice.shape())
    low, high = (
        np.float32(dice.pick([-1.0, 0.0, 0.3, 6.0, np.inf, -np.inf, -3.4e38]))
        if dice.chance(0.7)
        else None
        for _ in range(2)
    )
    if opset < 11:
        numbers = {"min": low, "max": high}
        attributes = {name: float(v) for name, v in numbers.items() if v is not None}
        return node_draw(dice, "Clip", opset, [x], attributes)
    return node_draw(dice, "Clip", opset, [x, low, high])


def binary(op: str, dice: Dice) -> Draw:
    shape = dice.shape()
    a, b = dice.floats(*shape), dice.floats(*dice.broadcast(shape))
    if op == "Pow" and dice.chance(0.5):
        b = np.asarray(dice.rng.integers(-2, 4, b.shape), np.float32)
    if op == "Pow" and dice.chance(0.3):
        b = b.astype(dice.pick([np.int32, np.int64]))
        return node_draw(dice, op, max(12, dice.opset(op)), [a, b])
    if op != "PRelu" and dice.chance(0.4):
        a, b = b, a
    return node_draw(dice, op, dice.opset(op), [a, b])


def variadic(op: str, dice: Dice) -> Draw:
    shape = dice.shape()
    arrays = [dice.floats(*dice.broadcast(shape)) for _ in range(dice.integer(1, 4))]
    return node_draw(dice, op, dice.opset(op), arrays)


def comparison(op: str, dice: Dice) -> Draw:
    shape = dice.shape()
    kind = dice.pick([np.float32, np.float32, np.float32, np.int64, np.int32, np.bool_])
    a, b = (np.asarray(dice.floats(*s) * 2) for s in (shape, dice.broadcast(shape)))
    if kind is not np.float32:
        a, b = (
            np.nan_to_num(np.round(v), posinf=3, neginf=3).clip(-9, 9).astype(kind) for v in (a, b)
        )
    return node_draw(dice, op, dice.opset(op), [a, b], outputs=[BOOL])


def logical(op: str, dice: Dice) -> Draw:
    shape = dice.shape()
    arrays = [dice.rng.random(s) < 0.5 for s in (shape, dice.broadcast(shape))]
    return node_draw(dice, op, dice.opset(op), [np.asarray(a) for a in arrays], outputs=[BOOL])


def negation(dice: Dice) -> Draw:
    mask = np.asarray(dice.rng.random(dice.shape()) < 0.5)
    return node_draw(dice, "Not", dice.opset("Not"), [mask], outputs=[BOOL])


def is_nan(dice: Dice) -> Draw:
    dice.special = True
    return node_draw(
        dice, "IsNaN", dice.opset("IsNaN"), [dice.floats(*dice.shape())], outputs=[BOOL]
    )


def is_inf(dice: Dice) -> Draw:
    dice.special = True
    attributes = {name: dice.pick([None, 0, 1]) for name in ("detect_negative", "detect_positive")}
    x = dice.floats(*dice.shape())
    return node_draw(dice, "IsInf", dice.opset("IsInf"), [x], attributes, [BOOL])


def where(dice: Dice) -> Draw:
    shape = dice.shape()
    mask = np.asarray(dice.rng.random(dice.broadcast(shape)) < 0.5)
    a, b = (dice.floats(*dice.broadcast(shape)) for _ in range(2))
    kind = FLOAT
    if dice.chance(0.2):
        a, b, kind = a > 0, b > 0, BOOL
    if dice.chance(0.1):
        a, b, kind = a.astype(np.int64) * 0, b.astype(np.int64) * 0, TensorProto.INT64
    return node_draw(
        dice, "Where", dice.opset("Where"), [mask, np.asarray(a), np.asarray(b)], outputs=[kind]
    )


_CAST_FROM = (
    *(np.float32, np.int64, np.int32, np.bool_, np.float64, np.float16, np.uint8, np.int8),
    *(np.uint16, np.uint64),
)
_CAST_TO = (FLOAT, FLOAT, FLOAT, BOOL, BOOL, TensorProto.INT64, TensorProto.DOUBLE)


def cast(dice: Dice) -> Draw:
    kind = dice.pick(_CAST_FROM)
    values = dice.floats(*dice.shape()) * dice.pick([1, 3, 300, 1e6])
    if np.dtype(kind).kind not in "f":
        values = np.nan_to_num(values, posinf=3, neginf=3).clip(-2e9, 2e9)
        values = values.clip(0, None) if np.dtype(kind).kind == "u" else values
    with np.errstate(all="ignore"):
        x: np.ndarray = np.asarray(values).astype(kind)
    target_type = dice.pick(_CAST_TO)
    return node_draw(dice, "Cast", dice.opset("Cast"), [x], {"to": target_type}, [target_type])


DRAWS: dict[str, Callable[[Dice], Draw]] = {
    **{op: partial(unary, op) for op in UNARY},
    **{op: partial(with_numbers, op) for op in WITH_NUMBERS},
    **{op: partial(binary, op) for op in BINARY},
    **{op: partial(variadic, op) for op in VARIADIC},
    **{op: partial(comparison, op) for op in COMPARISONS},
    **{op: partial(logical, op) for op in LOGICAL},
    "Gelu": gelu,
    "Clip": clip,
    "Not": negation,
    "IsNaN": is_nan,
    "IsInf": is_inf,
    "Where": where,
    "Cast": cast,
}
