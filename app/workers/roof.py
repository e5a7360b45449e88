"""What an executed node has to compute and to move, and how fast this machine could do it.

The roofline: no node is faster than its multiply-accumulates at the peak of a matrix product,
or its bytes at the peak of the memory (Williams, Waterman, Patterson, CACM 52, 2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from app.cases.operators import Operator, Peak
from exporters.node_graph import GraphNode, NodeGraph
from runtimes.execution import OpTime


def operators(
    graph: NodeGraph,
    ops: Sequence[OpTime],
    holds: Sequence[tuple[str, ...]],
    peak: Peak | None,
) -> tuple[Operator, ...]:
    """`ops` with what each has to do; `holds` are the nodes of the file that it was made of.

    What several of them share nobody knows how to divide: those have no figures.
    """
    nodes = {node.name: node for node in graph.nodes}
    holders = Counter(name for names in holds for name in names)
    found = []
    for op, names in zip(ops, holds, strict=True):
        macs = moved = None
        if names and all(holders[name] == 1 for name in names):
            own = [nodes[name] for name in names]
            macs = _sum([node.macs for node in own])
            moved = _bytes_moved(own, graph)
        roof_us = None if peak is None else _roof_us(macs, moved, peak)
        told = {one.name: getattr(op, one.name) for one in fields(OpTime)} | {"holds": names}
        found.append(Operator(**told, macs=macs, bytes_moved=moved, roof_us=roof_us))
    return tuple(found)


def _bytes_moved(own: Sequence[GraphNode], graph: NodeGraph) -> int | None:
    """What a group of nodes reads from outside and writes for others, each tensor once."""
    names = {node.name for node in own}
    inside = {tensor for node in own for tensor in node.writes}
    wanted = set(graph.outputs)
    wanted |= {tensor for node in graph.nodes if node.name not in names for tensor in node.reads}
    read = {t: size for node in own for t, size in node.reads.items() if t not in inside}
    written = {t: size for node in own for t, size in node.writes.items() if t in wanted}
    return _sum([*read.values(), *written.values()])


def _roof_us(macs: int | None, moved: int | None, peak: Peak) -> float | None:
    """The least time that the machine's peaks allow; None where nothing is known or to do."""
    if macs is None or moved is None or not (macs or moved):
        return None
    return max(2 * macs / peak.flops_per_s, moved / peak.bytes_per_s) * 1e6


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
