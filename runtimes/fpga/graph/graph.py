"""The graph that the card's compiler and its kernels read: frozen, shapes fixed, element types,
passes over blocks, fused groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

AttributeValue = (
    int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | np.ndarray
)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in the graph: its numpy dtype name and its fixed shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One ONNX operator. `since_version` is the operator's own; "" stands for no input."""

    name: str
    op: str
    domain: str
    since_version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list attribute of whole numbers; None if it is not given."""
        value = self.attributes.get(name)
        return tuple(int(number) for number in value) if isinstance(value, tuple) else None


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in topological order. `values` describes every name that is not a constant.

    `states` pairs (input, output) names whose tensor stays on the card between runs.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray]
    values: Mapping[str, Value]
    states: tuple[tuple[str, str], ...] = ()


CARD_DTYPES = frozenset({"float32", "float16", "bfloat16", "bool"})
"""Floats are bf16 on the card, booleans masks."""


def touches_float(graph: Graph, node: Node) -> bool:
    """Whether the node reads or writes a float; what does not is arithmetic on shapes and
    indices, which stays with the host and takes no time of the card's.
    """

    def is_float(name: str) -> bool:
        constant = graph.constants.get(name)
        dtype = graph.values[name].dtype if constant is None else str(constant.dtype)
        return "float" in dtype

    return any(is_float(name) for name in (*node.inputs, *node.outputs) if name)


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


Kind = Literal["operator", "chain"]


@dataclass(frozen=True, slots=True)
class Group:
    """`operator`: the first node, the rest folded into its weights. `chain`: element-wise."""

    kind: Kind
    nodes: tuple[Node, ...]

    @property
    def name(self) -> str:
        """The nodes' names joined, as messages and listings show them."""
        return "+".join(node.name or node.outputs[0] for node in self.nodes)

    @property
    def output(self) -> str:
        """The one tensor that leaves a group of several nodes."""
        return self.nodes[-1].outputs[0]


def fuse(graph: Graph) -> tuple[Group, ...]:
    """The graph's nodes in groups; a group stands where its work can begin at the earliest.

    Matrix operators keep their place in the order, chains stand at their last node's.
    """
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in dict.fromkeys(name for name in node.inputs if name):
            readers.setdefault(name, []).append(node)
    outputs = Counter(graph.outputs)
    position = {id(node): index for index, node in enumerate(graph.nodes)}
    taken_nodes: set[int] = set()
    ordered_groups: list[tuple[int, Group]] = []

    def only_reader(name: str) -> Node | None:
        """The one node that reads the tensor, where nobody outside sees it."""
        reader_nodes = readers.get(name, [])
        return reader_nodes[0] if len(reader_nodes) == 1 and not outputs[name] else None

    for node in graph.nodes:
        if id(node) in taken_nodes:
            continue
        is_chain = node.op in POINTWISE
        members = [node]
        while True:
            following = only_reader(members[-1].outputs[0])
            if following is None or id(following) in taken_nodes:
                break
            joins = (
                _chains(graph, members[-1], following)
                if is_chain
                else (_folds(graph, node, members[-1], following))
            )
            if not joins:
                break
            members.append(following)
        taken_nodes.update(id(member) for member in members)
        group = Group("chain" if is_chain else "operator", tuple(members))
        ordered_groups.append((position[id(members[-1] if is_chain else node)], group))
    return tuple(group for _, group in sorted(ordered_groups, key=lambda entry: entry[0]))


def _chains(graph: Graph, last: Node, following: Node) -> bool:
    """Whether an element-wise node goes on with a chain at the same shape."""
    return (
        following.op in POINTWISE
        and graph.values[following.outputs[0]].shape == graph.values[last.outputs[0]].shape
    )


_WEIGHT_AXES = {"Conv": 1, "Gemm": -1, "MatMul": -1}
"""Operators with weights, and the axis of the output that runs along the matrix's rows."""


def _folds(graph: Graph, first: Node, last: Node, following: Node) -> bool:
    """Whether a node only rescales the rows of the matrix in front of it."""
    if first.op not in _WEIGHT_AXES or first.inputs[1] not in graph.constants:
        return False
    shape = graph.values[last.outputs[0]].shape
    axis = _WEIGHT_AXES[first.op] % len(shape)
    if following.op == "BatchNormalization":
        return axis == 1 and all(name in graph.constants for name in following.inputs[1:])
    if following.op not in ("Add", "Sub", "Mul"):
        return False
    other = next((name for name in following.inputs if name != last.outputs[0]), "")
    constant = graph.constants.get(other)
    if constant is None or graph.values[following.outputs[0]].shape != shape:
        return False
    aligned_shape = (1,) * (len(shape) - constant.ndim) + constant.shape
    return all(size == 1 or i == axis for i, size in enumerate(aligned_shape))
