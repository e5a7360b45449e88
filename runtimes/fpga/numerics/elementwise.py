"""Element-wise kernels: arithmetic with broadcasting, activation functions, masks."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from onnx import TensorProto
from scipy.special import erf, expit

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, finite_bf16, operator, round_bf16

_SELU_ALPHA, _SELU_GAMMA = 1.6732632423543772, 1.0507009873554805


def _plain(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    operator(name)(lambda _call: function)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, np.float32(0))


operator("Relu", exact=True)(lambda _call: lambda x: np.maximum(x, 0))
_plain("Sigmoid", expit)
_plain("Tanh", np.tanh)
_plain("Erf", erf)
_plain("Softplus", _softplus)
_plain("Softsign", lambda x: x / (1 + np.abs(x)))
_plain("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1))
_plain("Mish", lambda x: x * np.tanh(_softplus(x)))


@operator("LeakyRelu")
def leaky_relu(call: Call) -> Kernel:
    alpha = call.number("alpha", 0.01)
    return lambda x: np.where(x < 0, alpha * x, x)


@operator("PRelu", oldest=7)
def prelu(_call: Call) -> Kernel:
    return lambda x, slope: np.where(x < 0, slope * x, x)


@operator("ThresholdedRelu")
def thresholded_relu(call: Call) -> Kernel:
    alpha = call.number("alpha", 1.0)
    return lambda x: np.where(x > alpha, x, np.float32(0))


@operator("HardSigmoid")
def hard_sigmoid(call: Call) -> Kernel:
    alpha, beta = call.number("alpha", 0.2), call.number("beta", 0.5)
    return lambda x: np.clip(alpha * x + beta, 0, 1)


@operator("Elu")
def elu(call: Call) -> Kernel:
    alpha = call.number("alpha", 1.0)
    return lambda x: np.where(x < 0, alpha * np.expm1(x), x)


@operator("Celu")
def celu(call: Call) -> Kernel:
    alpha = call.number("alpha", 1.0)
    return lambda x: np.where(x < 0, alpha * np.expm1(x / alpha), x)


@operator("Selu")
def selu(call: Call) -> Kernel:
    alpha, gamma = call.number("alpha", _SELU_ALPHA), call.number("gamma", _SELU_GAMMA)
    return lambda x: gamma * np.where(x < 0, alpha * np.expm1(x), x)


@operator("Swish")
def swish(call: Call) -> Kernel:
    alpha = call.number("alpha", 1.0)
    return lambda x: x * expit(alpha * x)


@operator("Gelu")
def gelu(call: Call) -> Kernel:
    kind = call.text("approximate", "none")
    if kind == "none":
        return lambda x: 0.5 * x * (1 + erf(x * np.float32(np.sqrt(0.5))))
    if kind == "tanh":
        scale = np.float32(np.sqrt(2 / np.pi))
        return lambda x: 0.5 * x * (1 + np.tanh(scale * (x + 0.044715 * x * x * x)))
    raise Refused(f"its approximation '{kind}' is unknown")


@operator("Shrink")
def shrink(call: Call) -> Kernel:
    bias, limit = call.number("bias", 0.0), call.number("lambd", 0.5)

    def run(x: np.ndarray) -> np.ndarray:
        # With a negative limit both comparisons may hold, and the first decides.
        large = np.where(x > limit, x - bias, np.float32(0))
        return np.where(x < -limit, x + bias, large)

    return run


@operator("Clip", exact=True)
def clip(call: Call) -> Kernel:
    """Bounds are attributes up to opset 10, optional inputs from 11."""
    low, high = (
        finite_bf16(call.number(name, 0.0)) if name in call.node.attributes else None
        for name in ("min", "max")
    )

    def run(
        x: np.ndarray, lowest: np.ndarray | None = None, highest: np.ndarray | None = None
    ) -> np.ndarray:
        lowest = low if lowest is None else lowest
        highest = high if highest is None else highest
        x = x if lowest is None else np.maximum(x, lowest)
        return x if highest is None else np.minimum(x, highest)

    return run


_ROUNDED_UNARY: dict[str, Kernel] = {
    name: getattr(np, name.lower())
    for name in ("Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Tan", "Sinh", "Cosh")
} | {
    f"A{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
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


_MASK_BINARY: dict[str, Kernel] = {
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}


def _mask_enter(name: str, function: Kernel, oldest: int = 1) -> None:
    operator(name, oldest=oldest, exact=True)(lambda _call: function)


for _mask_name, _mask_function in _MASK_BINARY.items():
    _mask_enter(_mask_name, _mask_function, oldest=7)

_mask_enter("Not", np.logical_not)
_mask_enter("IsNaN", np.isnan)
_mask_enter("Where", np.where)


@operator("IsInf", exact=True)
def is_inf(call: Call) -> Kernel:
    positive = bool(call.integer("detect_positive", 1))
    negative = bool(call.integer("detect_negative", 1))

    def run(x: np.ndarray) -> np.ndarray:
        sign_mask: np.ndarray = np.where(x > 0, positive, negative)
        return np.logical_and(np.isinf(x), sign_mask)

    return run


@operator("Cast", oldest=6, exact=True, indices=(0,))
def cast(call: Call) -> Kernel:
    """Whole numbers and masks become bf16, floats and whole numbers become masks."""
    match call.integer("to", TensorProto.UNDEFINED):
        case TensorProto.FLOAT:
            return lambda x: round_bf16(x.astype(np.float32))
        case TensorProto.BOOL:
            return lambda x: x.astype(np.bool_)
    raise Refused("the card holds floats and masks only")
