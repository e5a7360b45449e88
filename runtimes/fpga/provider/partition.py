"""Which supported nodes may be fused into one: from a graph's edges to convex claims.

A claim is convex if no path leaves it and comes back: a fused node must not wait for
itself. Claims are made so that none of them can wait for another in a circle either.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def predecessors(
    inputs: Sequence[Sequence[str]], outputs: Sequence[Sequence[str]]
) -> tuple[tuple[int, ...], ...]:
    """Per node, the nodes that make what it reads, given the names read and made by each."""
    maker = {name: index for index, names in enumerate(outputs) for name in names if name}
    return tuple(
        tuple(sorted({maker[name] for name in names if name in maker})) for names in inputs
    )


def claims(
    before: Sequence[Sequence[int]], supported: Collection[int]
) -> tuple[tuple[int, ...], ...]:
    """The fewest convex claims that hold every supported node.

    `before[i]` are the predecessors of node i, all less than i. A node's level counts how
    often the worst path that leads to it has left the supported nodes. Levels never fall
    along a path and rise on leaving, so what a path meets between two supported nodes of
    one level is supported and of that level: a level is convex, and a claim waits only for
    lower ones. A path with n returns needs n + 1 claims, so there can't be fewer.
    """
    taken = frozenset(supported)
    level: list[int] = []
    for node, nodes_before in enumerate(before):
        level.append(
            max((level[p] + (p in taken and node not in taken) for p in nodes_before), default=0)
        )
    grouped: dict[int, list[int]] = {}
    for node in sorted(taken):
        grouped.setdefault(level[node], []).append(node)
    return tuple(tuple(nodes) for _, nodes in sorted(grouped.items()))
