"""What a command says of runs of which it left out what is damaged, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence

from app.results.plain import printable
from app.results.verify import Whole

OK, DAMAGED = 0, 1


def damage(runs: Sequence[Whole]) -> tuple[str, ...]:
    """A sentence for each thing that is damaged in one of them."""
    return tuple(f"{run.run.path}: {sentence}" for run in runs for sentence in run.left_out)


def with_damage(told: str, runs: Sequence[Whole]) -> tuple[str, int]:
    """What is `told` of runs, then a line for each thing in them that is damaged, and the exit
    code."""
    lines = damage(runs)
    return told + "".join(f"{printable(line)}\n" for line in lines), DAMAGED if lines else OK
