"""Which nodes of a graph the card leaves to other providers, and why."""

from __future__ import annotations

from collections.abc import Mapping

from runtimes.fpga.lower.support import why_not
from runtimes.fpga.provider.graph import OrtGraph

_NODES_TOLD = 10
"""How many of them a log line names."""


def why_left_out(shown: OrtGraph, index: int) -> str | None:
    """Why node `index` can't be on the card; None if it can."""
    node = shown.graph.nodes[index]
    names = (*node.inputs, *node.outputs)
    unfixed = next((shown.unfixed[name] for name in names if name in shown.unfixed), None)
    return unfixed or why_not(node, shown.graph)


def left_out(shown: OrtGraph, reasons: Mapping[int, str | None]) -> str:
    """A line for ONNX Runtime's own log; "" where all nodes can be on the card."""
    left = [
        f"{node.op} '{node.name}': {reasons[i]}"
        for i, node in enumerate(shown.graph.nodes)
        if reasons[i]
    ]
    if not left:
        return ""
    message = f"{len(left)} nodes are left to other providers: {'; '.join(left[:_NODES_TOLD])}"
    if len(left) > _NODES_TOLD:
        message += f"; and {len(left) - _NODES_TOLD} more"
    if shown.unfixed:
        message += "; fix open dimensions with add_free_dimension_override_by_name"
    return message
