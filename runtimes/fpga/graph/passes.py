"""How often each element-wise operator runs over its blocks: a table, and the rule behind it.

One pass can apply one activation and one arithmetic operation to a block, so that ReLU and
a residual add are one pass. The entries count (activations, arithmetic operations).
"""

from __future__ import annotations

from collections.abc import Sequence

from runtimes.fpga.graph.graph import Node

POINTWISE: dict[str, tuple[int, int]] = {
    **dict.fromkeys(
        (
            *("Abs", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid"),
            *("LeakyRelu", "Log", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Celu"),
            *("Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh"),
            *("ThresholdedRelu", "PRelu", "Not", "IsInf", "IsNaN", "Cast"),
            *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Shrink"),
        ),
        (1, 0),
    ),
    **dict.fromkeys(
        (
            *("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Mod", "Where"),
            *("And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
            "BatchNormalization",
        ),
        (0, 1),
    ),
    "HardSwish": (1, 1),
    "Swish": (1, 1),
    "Mish": (2, 1),
    "Gelu": (1, 3),
}

_VARIADIC = {"Min", "Max", "Sum", "Mean"}


def passes(nodes: Sequence[Node]) -> int:
    """Passes over the blocks for a chain of element-wise nodes, each fed by the last."""
    activations = arithmetic = 0
    for node in nodes:
        more_activations, more_arithmetic = POINTWISE[node.op]
        if node.op in _VARIADIC:
            more_arithmetic *= max(1, len(node.inputs) - 1)
        activations += more_activations
        arithmetic += more_arithmetic
    return max(activations, arithmetic)
