"""Where the weights lie: the tiles of every matrix on the cores, and whether they fit.

Tiles are dealt out one by one to the cores that hold least, so no core is fuller than
another by more than a matrix that is bound to few cores makes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtimes.faults import Unsupported
from runtimes.fpga.cards import Card, Release
from runtimes.fpga.lower.steps import Lowered, MatrixStep


@dataclass(frozen=True, slots=True)
class Placement:
    """`tiles[m][c]` are the tiles of matrix m on core c."""

    tiles: tuple[tuple[int, ...], ...]
    used: int
    total: int


def place(lowered: Lowered, card: Card, release: Release) -> Placement:
    """Deal the tiles out; Unsupported where the card holds fewer than are needed."""
    needed = [matrix.tiles(card.block) for matrix in lowered.matrices]
    if sum(needed) > card.tiles:
        raise Unsupported(
            f"needs {sum(needed)} tiles, the card has {card.tiles}",
            "use a larger card or a smaller model",
        )
    few = {
        step.matrix
        for step in lowered.steps
        if isinstance(step, MatrixStep) and step.recurrent and release.recurrent_cores
    }
    free = [card.tiles_per_core] * card.cores
    dealt = tuple(
        _deal(count, free, release.recurrent_cores if matrix in few else card.cores)
        for matrix, count in enumerate(needed)
    )
    return Placement(dealt, sum(needed), card.tiles)


def _deal(count: int, free: list[int], wanted_cores: int) -> tuple[int, ...]:
    """Deal `count` tiles to the emptiest cores, to others once those are full."""
    order = sorted(range(len(free)), key=lambda core: -free[core])
    held = [0] * len(free)
    for cores in (order[:wanted_cores], order[wanted_cores:]):
        while count and any(free[core] for core in cores):
            open_cores = [core for core in cores if free[core]]
            share, rest = divmod(count, len(open_cores))
            for position, core in enumerate(open_cores):
                given = min(free[core], share + (position < rest))
                held[core] += given
                free[core] -= given
                count -= given
    return tuple(held)
