"""Nodes become groups that run as one: constants into weights, element-wise chains into one.

A matrix operator takes the batch norm, the bias and the scale behind it into its weights.
Element-wise operators that feed each other become one group, so that an activation and the
residual add behind it are done in one pass over the producer's result.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from runtimes.fpga.graph.graph import Graph, Node
from runtimes.fpga.graph.passes import POINTWISE

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
    taken: set[int] = set()
    placed: list[tuple[int, Group]] = []

    def only_reader(name: str) -> Node | None:
        """The one node that reads the tensor, where nobody outside sees it."""
        found = readers.get(name, [])
        return found[0] if len(found) == 1 and not outputs[name] else None

    for node in graph.nodes:
        if id(node) in taken:
            continue
        chained = node.op in POINTWISE
        members = [node]
        while True:
            following = only_reader(members[-1].outputs[0])
            if following is None or id(following) in taken:
                break
            joins = (
                _chains(graph, members[-1], following)
                if chained
                else (_folds(graph, node, members[-1], following))
            )
            if not joins:
                break
            members.append(following)
        taken.update(id(member) for member in members)
        group = Group("chain" if chained else "operator", tuple(members))
        placed.append((position[id(members[-1] if chained else node)], group))
    return tuple(group for _, group in sorted(placed, key=lambda entry: entry[0]))


def _chains(graph: Graph, last: Node, following: Node) -> bool:
    """Whether an element-wise node goes on with a chain at the same shape."""
    return (
        following.op in POINTWISE
        and graph.values[following.outputs[0]].shape == graph.values[last.outputs[0]].shape
    )


_WEIGHTED = {"Conv": 1, "Gemm": -1, "MatMul": -1}
"""Operators with weights, and the axis of the output that runs along the matrix's rows."""


def _folds(graph: Graph, first: Node, last: Node, following: Node) -> bool:
    """Whether a node only rescales the rows of the matrix in front of it."""
    if first.op not in _WEIGHTED or first.inputs[1] not in graph.constants:
        return False
    shape = graph.values[last.outputs[0]].shape
    axis = _WEIGHTED[first.op] % len(shape)
    if following.op == "BatchNormalization":
        return axis == 1 and all(name in graph.constants for name in following.inputs[1:])
    if following.op not in ("Add", "Sub", "Mul"):
        return False
    other = next((name for name in following.inputs if name != last.outputs[0]), "")
    constant = graph.constants.get(other)
    if constant is None or graph.values[following.outputs[0]].shape != shape:
        return False
    aligned = (1,) * (len(shape) - constant.ndim) + constant.shape
    return all(size == 1 or i == axis for i, size in enumerate(aligned))
