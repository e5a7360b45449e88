"""The search itself: blocks of rounds to measure, one after another, by successive halving.

A block measures its cases once each, in turn: rounds of one number are pairs. What comes next
follows from the costs seen so far alone, so that whoever asks again is told the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from app.cases.case import Case
from app.stats.quantiles import CONFIDENCE
from app.stats.verdict import Difference, difference, interval_of
from app.tune.space import Choice, Space

RUNGS = (1, 1, 2)
"""So many rounds, then the better half goes on."""
TRIAL = 8
"""Rounds that nobody was chosen by, after which a challenger takes the lead or does not."""
LIKELY = 0.9
"""A challenger takes it whose interval of this confidence is all better: the final rounds judge
what came of it, so that here a gain is rather followed than missed."""
FINALISTS = 3
DRAWN, CHANGES = 6, 2
"""So many configurations are drawn each time that differ in so many choices."""
GENERATIONS = 8
PATIENCE = 2
"""The search ends when so many in a row brought nothing."""
HOPELESS = 1.5
"""A change that costs so many times more is not tried again on that runtime and precision."""

Block = tuple[tuple[Case, int], ...]
"""Cases with the number of their round, in the order in which they are measured."""


class Seen(Protocol):
    """What rounds told: lower costs are better."""

    def cost(self, case: Case, number: int) -> float | None:
        """Of one round; None where it gave no figure."""

    def out(self, case: Case, before: int) -> str:
        """Why the case can't win, by its rounds of lower numbers; "" if it can."""

    def fails(self, case: Case, before: int) -> bool:
        """Whether one of these rounds gave no figure, so that more of them tell nothing."""


@dataclass(slots=True)
class Search:
    """`lead` is the best so far, `rival` the nearest other one. Run `blocks` to its end, giving it
    what each block saw through `seen`, or stop anywhere."""

    space: Space
    seen: Seen
    seed: int
    lead: Case = field(init=False)
    rival: Case | None = None
    number: int = 0
    generation: int = 0
    _promising: list[Case] = field(default_factory=list)
    _hopeless: set[tuple[str, str, Choice]] = field(default_factory=set)
    _beaten: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lead = self.space.base

    def blocks(self) -> Iterator[Block]:
        """All that is to be measured, one block after another; each is asked for once the one
        before it has been seen."""
        yield from self._race(self.space.beginnings())
        in_vain = 0
        while self.generation < GENERATIONS and in_vain < PATIENCE:
            self.generation += 1
            in_vain = 0 if (yield from self._race(self._around())) else in_vain + 1

    def _around(self) -> Iterator[Case]:
        """Single changes of what leads, all that looked well on top of it, and some drawn."""
        rng = random.Random(f"{self.seed}:{self.generation}")
        for case in self.space.changes(self.lead):
            ((choice, _), *_) = self.space.between(self.lead, case)
            if (self.lead.runtime, self.lead.precision, choice) not in self._hopeless:
                yield case
        yield from self.space.shared(self.lead)
        for case in self._promising:
            yield self.space.joined(self.lead, case)
        for _ in range(DRAWN):
            yield self.space.drawn(self.lead, rng, CHANGES)

    def _race(self, contenders: Iterable[Case]) -> Generator[Block, None, bool]:
        """Whether one of them takes the lead."""
        known = {self.lead.case_id, *self._beaten}
        alive = list({c.case_id: c for c in contenders if c.case_id not in known}.values())
        first = self.number
        for rounds in RUNGS:
            if not alive:
                break
            for _ in range(rounds):
                yield self._block((self.lead, *alive))
            if rounds == RUNGS[0]:
                self._learn(alive, first)
            alive = self._better_half(alive, first)
        if self.seen.out(self.lead, self.number):
            self._promising = []
            self.lead, *others = alive or [self.lead]
            self.rival = others[0] if others else None
            return bool(alive)
        finalists = alive[:FINALISTS]
        if not finalists:
            return False
        begun = self.number
        for _ in range(TRIAL):
            yield self._block((self.lead, *finalists))
        return self._crown(finalists, begun)

    def _block(self, cases: Sequence[Case]) -> Block:
        number = self.number
        self.number += 1
        able = [case for case in cases if not self.seen.out(case, number)]
        random.Random(f"{self.seed}:{number}").shuffle(able)
        return tuple((case, number) for case in able)

    def _better_half(self, alive: Sequence[Case], first: int) -> list[Case]:
        """Those with the lower half of costs, the best first, of which none is known to be worse
        than what leads."""
        able = [case for case in alive if not self.seen.out(case, self.number)]
        costs = {case.case_id: self._mean_log(case, first) for case in able}
        able = [case for case in able if math.isfinite(costs[case.case_id])]
        able.sort(key=lambda case: costs[case.case_id])
        worse = {case.case_id for case in able if self._is_worse(case, first)}
        self._beaten |= worse
        half = able[: math.ceil(len(able) / 2)]
        return [case for case in half if case.case_id not in worse]

    def _is_worse(self, case: Case, first: int) -> bool:
        """Whether the case is known to be worse than what leads, or by far looks so."""
        if self._mean_log(case, first) > self._mean_log(self.lead, first) + math.log(HOPELESS):
            return True
        found = self._difference(case, first)
        return found is not None and interval_of(found, CONFIDENCE).low > 1.0

    def _mean_log(self, case: Case, first: int) -> float:
        known = [self.seen.cost(case, number) for number in range(first, self.number)]
        costs = [cost for cost in known if cost]
        return float(np.mean(np.log(costs))) if costs else math.inf

    def _difference(self, case: Case, first: int) -> Difference | None:
        return paired(self.seen, self.lead, case, range(first, self.number))

    def _learn(self, alive: Sequence[Case], first: int) -> None:
        """Which single changes of what leads cost far too much."""
        usual = self._mean_log(self.lead, first)
        for case in alive:
            steps = self.space.between(self.lead, case)
            if len(steps) == 1 and self._mean_log(case, first) > usual + math.log(HOPELESS):
                self._hopeless.add((self.lead.runtime, self.lead.precision, steps[0][0]))

    def _crown(self, finalists: Sequence[Case], begun: int) -> bool:
        """Let the best of those take the lead that fresh rounds show to be better."""
        ranked = sorted(
            (found.log, place)
            for place, case in enumerate(finalists)
            if (found := self._difference(case, begun)) is not None
            and not self.seen.out(case, self.number)
        )
        cases = [finalists[place] for _, place in ranked]
        better = [case for case in cases if self._is_better(case, begun)]
        self._promising = better[1:]
        if better:
            self.rival = better[1] if better[1:] else self.lead
            self.lead = better[0]
        elif cases:
            self.rival = cases[0]
        return bool(better)

    def _is_better(self, case: Case, begun: int) -> bool:
        found = self._difference(case, begun)
        return found is not None and interval_of(found, LIKELY).high < 1.0


def paired(
    seen: Seen, first: Case, second: Case, numbers: Iterable[int], apart: int = 0
) -> Difference | None:
    """Of the rounds that both have, those of the second numbered so much higher."""
    pairs = [(seen.cost(first, number), seen.cost(second, number + apart)) for number in numbers]
    known = [(a, b) for a, b in pairs if a and b]
    return difference([a for a, _ in known], [b for _, b in known], in_turn=True)
