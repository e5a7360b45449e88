"""Whether a node can be on the card: its kernel must exist and the compiler must lower it."""

from __future__ import annotations

from dataclasses import replace

from runtimes.faults import Unsupported
from runtimes.fpga.graph.graph import Graph, Node
from runtimes.fpga.lower import lower
from runtimes.fpga.numerics.emulation import refusal


def why_not(node: Node, graph: Graph) -> str | None:
    """Why `node` of `graph` can't be on the card, in a few words; None if it can."""
    reason = refusal(node, graph)
    if reason is not None:
        return reason
    arriving = dict.fromkeys(i for i in node.inputs if i and i not in graph.constants)
    alone = replace(
        graph,
        inputs=tuple(arriving),
        outputs=tuple(filter(None, node.outputs)),
        nodes=(node,),
        states=(),
    )
    try:
        lower(alone)
    except Unsupported as error:
        return error.cause
    return None
