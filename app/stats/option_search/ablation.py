"""What a search came to: the way from the default to the winner, each step with its gain.

All gains are from the final rounds, which measured every step in turn and chose nobody.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.cases.case import Case
from app.stats.intervals import typical
from app.stats.option_search.search import Block, Figures, cost_pairs
from app.stats.option_search.space import Choice, Space
from app.stats.verdict import Verdict, judge_rounds

FINAL, AGAIN = 1_000_000, 2_000_000
"""The first round of the final comparison, and of the winner's second one in each block."""


def round_name(number: int) -> str:
    """As people count them, from 1: `round 3`, and of the final comparison `final round 3`."""
    if number >= AGAIN:
        return f"final round {number - AGAIN + 1} again"
    return f"final round {number - FINAL + 1}" if number >= FINAL else f"round {number + 1}"


@dataclass(frozen=True, slots=True)
class Step:
    """`choice` is what changes, None of the default; `cost` that of a typical round, None where
    there is no figure. The verdicts are of the cost, over the step before and over the default."""

    choice: Choice | None
    case: Case
    cost: float | None
    previous: Verdict | None = None
    default: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """`again` is the winner against itself, `rival_verdict` its runner-up against it; None without
    one.

    `noise` is by what share the winner's own rounds of one block differ, None where unknown.
    """

    steps: tuple[Step, ...]
    rival: Case | None
    rival_verdict: Verdict | None
    again: Verdict | None
    noise: float | None
    rounds: int

    @property
    def winner(self) -> Step:
        return self.steps[-1]


def path_to(space: Space, winner: Case, figures: Figures) -> list[tuple[Choice | None, Case]]:
    """The default and the cases after each change, but for those that can't run or be right."""
    steps: list[tuple[Choice | None, Case]] = [(None, space.base)]
    for choice, case in space.steps_between(space.base, winner):
        if case.case_id == winner.case_id or not figures.exclusion_reason(case, FINAL):
            steps.append((choice, case))
    return steps


def final_blocks(
    path: Sequence[tuple[Choice | None, Case]],
    rival: Case | None,
    rounds: int,
    seed: int,
    figures: Figures,
) -> Iterator[Block]:
    """Every step, the runner-up and the winner twice, in turn; none where the winner can't win."""
    winner = path[-1][1]
    if figures.exclusion_reason(winner, FINAL):
        return
    cases = {case.case_id: case for _, case in path if not figures.fails(case, FINAL)}
    if rival is not None and not figures.fails(rival, FINAL):
        cases.setdefault(rival.case_id, rival)
    for number in range(rounds):
        entries = [(case, FINAL + number) for case in cases.values()]
        entries.append((winner, AGAIN + number))
        random.Random(f"{seed}:final:{number}").shuffle(entries)
        yield tuple(entries)


def ladder(
    path: Sequence[tuple[Choice | None, Case]],
    rival: Case | None,
    figures: Figures,
    rounds: int,
    band: float,
) -> Ladder:
    """From the final rounds that there are so far; all verdicts of it judged together."""
    numbers = range(FINAL, FINAL + rounds)
    cases = [case for _, case in path]
    first, winner = cases[0], cases[-1]
    repetition = cost_pairs(figures, winner, winner, numbers, offset=AGAIN - FINAL)
    comparisons = [
        *(cost_pairs(figures, a, b, numbers) for a, b in pairwise(cases)),
        *(cost_pairs(figures, first, case, numbers) for case in cases[1:]),
        cost_pairs(figures, winner, rival, numbers) if rival is not None else None,
        repetition,
    ]
    verdicts = judge_rounds(comparisons, band)
    steps = len(cases) - 1
    ladder_steps = [
        Step(
            choice,
            case,
            _typical(figures, case, numbers),
            verdicts[place - 1] if place else None,
            verdicts[steps + place - 1] if place else None,
        )
        for place, (choice, case) in enumerate(path)
    ]
    noise, change = None, repetition.difference
    if change is not None:
        noise = math.expm1(change.error * math.sqrt((change.freedom + 1) / 2.0))
    rival_verdict = verdicts[-2] if rival is not None else None
    measured_count = sum(figures.cost(winner, number) is not None for number in numbers)
    return Ladder(tuple(ladder_steps), rival, rival_verdict, verdicts[-1], noise, measured_count)


def _typical(figures: Figures, case: Case, numbers: Sequence[int]) -> float | None:
    costs = [cost for number in numbers if (cost := figures.cost(case, number))]
    return typical(np.array(costs)) if costs else None
