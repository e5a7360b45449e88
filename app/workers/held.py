"""Which nodes of the file an executed node was made of, as far as its engine tells.

An engine tells by the tensors of its own graph, by names, or, for a torch module, by the order of
its calls and by its parameters. A node of which nothing is told was fused into a neighbour: into
the one before it if that gives a tensor of the engine's own and it needs nothing else, or else
into the one that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from app.workers.torch_calls import told_by_calls
from exporters.node_graph import GraphNode, NodeGraph
from runtimes.execution import OpTime

_LAID_OUT = "_nchwc"
"""ONNX Runtime puts this behind a tensor's name to call the node that gives it in blocks."""


def held(graph: NodeGraph, ops: Sequence[OpTime]) -> list[tuple[str, ...]]:
    """For each of `ops` the names of the nodes that it computes, in the file's order.

    No node is held by two.
    """
    executed = {node.name: node for node in graph.executed}
    owners: dict[str, int] = {}
    for number, op in enumerate(ops):
        for name in _told(op, executed.get(op.node), graph):
            owners.setdefault(name, number)
    owners = owners or told_by_calls(graph, ops)
    _extend(graph, [executed.get(op.node) for op in ops], owners)
    found: list[list[str]] = [[] for _ in ops]
    for node in graph.nodes:
        if node.name in owners:
            found[owners[node.name]].append(node.name)
    return [tuple(names) for names in found]


def _told(op: OpTime, run: GraphNode | None, graph: NodeGraph) -> Iterator[str]:
    """The nodes that give the tensors of the executed one, else those that it is called after."""
    given = [graph.maker(tensor) for tensor in (run.writes if run else ())]
    if any(given):
        yield from (node.name for node in given if node)
        return
    for name in op.holds or (op.node,):
        parts = name.removesuffix(_LAID_OUT).split("/")
        starts = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
        yield from next(filter(None, map(graph.called, starts)), ())


def _extend(graph: NodeGraph, executed: Sequence[GraphNode | None], owners: dict[str, int]) -> None:
    """Give the nodes that have no owner to the executed ones, in the order of execution."""
    if not owners:
        return
    own: list[list[GraphNode]] = [[] for _ in executed]
    for node in graph.nodes:
        if node.name in owners:
            own[owners[node.name]].append(node)
    alias: dict[str, str] = {}
    for number, run in enumerate(executed):
        if run is None or not own[number] or any(map(graph.maker, run.writes)):
            continue  # where it ends is known
        known = {alias.get(tensor, tensor) for tensor in run.reads}
        while (behind := _fused_behind(graph, own[number], known, owners)) is not None:
            owners[behind.name] = number
            own[number].append(behind)
        alias |= dict.fromkeys(run.writes, next(iter(own[number][-1].writes)))
    for number, nodes in enumerate(own):
        left = list(chain.from_iterable(node.reads for node in nodes))
        while left:
            maker = graph.maker(left.pop())
            if maker is not None and maker.name not in owners:
                owners[maker.name] = number
                left += maker.reads


def _fused_behind(
    graph: NodeGraph, own: Sequence[GraphNode], known: set[str], owners: Mapping[str, int]
) -> GraphNode | None:
    """The one node that needs what these give, if it multiplies nothing and needs nothing else."""
    if len(own[-1].writes) != 1:
        return None
    (tensor,) = own[-1].writes
    needing = graph.needing(tensor)
    if len(needing) != 1 or needing[0].name in owners or needing[0].macs != 0:
        return None
    others = (read for read in needing[0].reads if read != tensor and graph.maker(read))
    return needing[0] if known.issuperset(others) else None
