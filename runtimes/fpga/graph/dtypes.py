"""Which element types the card computes with, and which nodes are none of its business."""

from __future__ import annotations

from runtimes.fpga.graph.graph import Graph, Node

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
