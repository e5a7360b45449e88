"""What a command says of runs of which it left out what is damaged, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.present.document import Block
from app.results.verify import Whole

OK, DAMAGED = 0, 1


def damage(runs: Sequence[Whole]) -> tuple[str, ...]:
    """A sentence for each thing that is damaged in one of them."""
    return tuple(f"{run.run.path}: {sentence}" for run in runs for sentence in run.left_out)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of runs: blocks, and a sentence for each thing in the runs that is damaged."""

    blocks: tuple[Block, ...]
    damage: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code."""
        return DAMAGED if self.damage else OK
