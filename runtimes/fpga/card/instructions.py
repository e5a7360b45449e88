"""Steps on one card become instructions: a unit, cycles to issue, a depth, and who to wait for.

Where part of an instruction can be done before the request arrives, it knows how many
cycles that part takes and how many are left then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from runtimes.fpga.cards import Card, Release
from runtimes.fpga.lower.steps import ElementStep, Lowered, MatrixStep, tiles

Unit = Literal["matrix", "element"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """`issue` cycles on a unit, a result `depth` cycles later.

    `ahead` cycles of it depend on held state alone; once they are done beforehand,
    `fresh_issue` are left. No fresh issue at all means that nothing of it is left.
    `work` counts tile products or block passes, what `issue` would be on one core.
    """

    name: str
    unit: Unit
    issue: int
    fresh_issue: int
    ahead: int
    depth: int
    work: int
    after: tuple[int, ...]


def assemble(
    lowered: Lowered, card: Card, release: Release, moved_bytes: Mapping[int, int]
) -> tuple[Instruction, ...]:
    """One instruction for each step, in order; `moved_bytes` go to and from memory outside the
    chip while a step issues."""
    program = [
        _multiply(step, lowered, card, release)
        if isinstance(step, MatrixStep)
        else _sweep(step, card, release)
        for step in lowered.steps
    ]
    for number, size in moved_bytes.items():
        assert card.part is not None
        cycles = math.ceil(size * card.clock_mhz / card.part.external_bytes_per_us)
        program[number] = _stalled(program[number], cycles)
    return tuple(program)


def _stalled(instruction: Instruction, cycles: int) -> Instruction:
    """The instruction with its issue held up by a transfer."""
    wholly_ahead = not instruction.fresh_issue
    return replace(
        instruction,
        issue=instruction.issue + cycles,
        fresh_issue=0 if wholly_ahead else instruction.fresh_issue + cycles,
        ahead=instruction.ahead + cycles if wholly_ahead else instruction.ahead,
    )


def _cores(step: MatrixStep | ElementStep, card: Card, release: Release) -> int:
    bound = release.recurrent_cores if step.recurrent else 0
    return min(card.cores, bound or card.cores)


def _multiply(step: MatrixStep, lowered: Lowered, card: Card, release: Release) -> Instruction:
    """issue = vectors x ceil(tiles / cores)."""
    matrix = lowered.matrices[step.matrix]
    cores = _cores(step, card, release)
    issue = fresh_issue = ahead = work = 0
    for group in step.vectors:
        fresh, stale = (
            sum(tiles(matrix.groups, matrix.rows, part, card.block) for part in parts)
            for parts in (group.fresh, group.stale)
        )
        issue += group.count * -(-(fresh + stale) // cores)
        fresh_issue += group.count * -(-fresh // cores)
        ahead += group.count * -(-stale // cores)
        work += group.count * (fresh + stale)
    return Instruction(
        step.name, "matrix", issue, fresh_issue, ahead, card.matrix_depth, work, step.after
    )


def _sweep(step: ElementStep, card: Card, release: Release) -> Instruction:
    """issue = passes x ceil(blocks / cores)."""
    cores = _cores(step, card, release)
    depth = card.cell_depth if step.recurrent else card.element_depth
    fresh, stale = (-(-count // card.block) for count in (step.fresh, step.stale))
    return Instruction(
        name=step.name,
        unit="element",
        issue=step.passes * -(-(fresh + stale) // cores),
        fresh_issue=step.passes * -(-fresh // cores),
        ahead=step.passes * -(-stale // cores),
        depth=depth,
        work=step.passes * (fresh + stale),
        after=step.after,
    )
