"""Where the nodes of a graph are drawn: in layers from top to bottom, with few crossings.

The layered scheme of Sugiyama, Tagawa and Toda (1981): levels by longest path, points put
into long edges so that they run around nodes, order by the mean place of the neighbours,
then columns pulled towards what they are connected to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COLUMN, LEVEL = 190.0, 96.0
"""The distance of neighbouring nodes, across and down."""

_BEND = 50.0
"""The room that a passing edge takes in a level."""

_SWEEPS = 4
_BENDS_PER_NODE = 4
"""Beyond so many bends, long edges are drawn straight: layout stays linear in the nodes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres (x, y) of the nodes [n], and for each edge the points between its ends."""

    places: tuple[tuple[float, float], ...]
    bends: tuple[tuple[tuple[float, float], ...], ...]


def lay_out(count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """Places for `count` nodes in topological order, joined by (from, to) edges."""
    level = _levels(count, edges)
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    chains: list[list[int]] = []
    for source, target in edges:
        chain: list[int] = []
        last = source
        spare = count * (1 + _BENDS_PER_NODE) - len(level)
        span = level[target] - level[source] - 1
        for step in range(span if span <= spare else 0):
            chain.append(len(level))
            level.append(level[source] + 1 + step)
            after.append([])
            before.append([])
            _join(after, before, last, chain[-1])
            last = chain[-1]
        _join(after, before, last, target)
        chains.append(chain)
    layers: list[list[int]] = [[] for _ in range(max(level, default=0) + 1)]
    for item, depth in enumerate(level):
        layers[depth].append(item)
    x = _columns(layers, before, after, count)
    places = tuple((x[item], level[item] * LEVEL) for item in range(len(level)))
    bends = tuple(tuple(places[item] for item in chain) for chain in chains)
    return Layout(places[:count], bends)


def _join(after: list[list[int]], before: list[list[int]], source: int, target: int) -> None:
    after[source].append(target)
    before[target].append(source)


def _levels(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Each node below all that it reads; inputs just above their first reader."""
    level = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        level[target] = max(level[target], level[source] + 1)
    readers: list[list[int]] = [[] for _ in range(count)]
    read = set()
    for source, target in edges:
        readers[source].append(target)
        read.add(target)
    for node in range(count):
        if node not in read and readers[node]:
            level[node] = min(level[reader] for reader in readers[node]) - 1
    return level


def _columns(
    layers: list[list[int]], before: list[list[int]], after: list[list[int]], count: int
) -> list[float]:
    """The x of every item: ordered by the neighbours' means, then drawn towards them."""
    x = [0.0] * len(before)
    for layer in layers:
        _spread(layer, x, [float(k) for k in range(len(layer))], count)
    for _ in range(_SWEEPS):
        for sweep, neighbours in ((layers, before), (layers[::-1], after)):
            for layer in sweep:
                wanted = [
                    sum(x[n] for n in neighbours[item]) / len(neighbours[item])
                    if neighbours[item]
                    else x[item]
                    for item in layer
                ]
                _spread(layer, x, wanted, count)
    return x


def _spread(layer: list[int], x: list[float], wanted: list[float], count: int) -> None:
    """Order the layer as wanted; place each as near as its neighbours' widths allow.

    Packed once from the left and once from the right, the mean of both keeps the distances.
    """
    order = sorted(range(len(layer)), key=lambda k: (wanted[k], k))
    items = [layer[k] for k in order]
    goals = [wanted[k] for k in order]
    half = [COLUMN / 2 if item < count else _BEND / 2 for item in items]
    left, right = goals[:], goals[:]
    for k in range(1, len(items)):
        left[k] = max(left[k], left[k - 1] + half[k - 1] + half[k])
    for k in range(len(items) - 2, -1, -1):
        right[k] = min(right[k], right[k + 1] - half[k + 1] - half[k])
    for item, a, b in zip(items, left, right, strict=True):
        x[item] = (a + b) / 2.0
    layer[:] = items
