"""Search over options by successive halving, with the effect of each choice on the cost."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from app.cases.case import Case
from app.stats.option_search.space import Choice, Space
from app.stats.verdict import RoundPairs, pair_rounds

Values = tuple[Choice, ...]
"""All that is chosen in a configuration."""
Observation = tuple[str, Values, int, float]
"""A configuration's id and choices, the number of its block, and the cost."""

_ITERATIONS = 12
_TAIL = 4.0
"""Degrees of freedom of the noise: a slow process counts less than a typical one."""
_MINIMUM_SPREAD, _MINIMUM_NOISE = 1e-4, 1e-3
"""Standard deviations of logarithms."""
_FIRST_SPREAD, _FIRST_NOISE = 0.1, 0.05
_CONFIGURATION = "configuration"
"""The group of what is particular to a configuration, beside its choices."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The logarithm of the cost is a sum of effects, of the choices and of the configuration.

    `mean` [p] and `covariance` [p, p] are the effects' posterior, `places` where each choice and
    configuration stands. What was never measured has no effect and the spread of its kind.
    """

    places: Mapping[Choice | str, int]
    mean: np.ndarray
    covariance: np.ndarray
    spreads: Mapping[str, float]

    def predicted(self, case_id: str, values: Values) -> float:
        """The expected logarithm of a configuration's cost, up to a constant."""
        return float(sum(self.mean[place] for place in self._effect_columns(case_id, values)))

    def deviation(self, first: tuple[str, Values], second: tuple[str, Values]) -> float:
        """The standard deviation of the difference between the logarithms of two costs."""
        contrast = np.zeros(len(self.mean))
        unseen_variance = 0.0
        for (case_id, values), sign in ((first, 1.0), (second, -1.0)):
            np.add.at(contrast, self._effect_columns(case_id, values), sign)
            if case_id not in self.places:
                unseen_variance += self.spreads.get(_CONFIGURATION, 0.0) ** 2
        for name, value in set(first[1]) ^ set(second[1]):
            if (name, value) not in self.places:
                unseen_variance += self.spreads.get(name, _FIRST_SPREAD) ** 2
        return float(np.sqrt(max(contrast @ self.covariance @ contrast, 0.0) + unseen_variance))

    def sample(self, rng: np.random.Generator) -> Callable[[Choice], float]:
        """The effects as they may be, by the posterior: what is uncertain is tried."""
        # Not by eigenvectors: the threads of OpenBLAS wait actively for each other in their
        # computation, which beside other work takes a hundred times the processor time.
        factor = np.linalg.cholesky(self.covariance)
        effects = self.mean + factor @ rng.standard_normal(len(self.mean))
        unseen_effects: dict[Choice, float] = {}

        def effect(choice: Choice) -> float:
            if choice in self.places:
                return float(effects[self.places[choice]])
            if choice not in unseen_effects:
                unseen_effects[choice] = (
                    self.spreads.get(choice[0], _FIRST_SPREAD) * rng.standard_normal()
                )
            return unseen_effects[choice]

        return effect

    def expected(self, choice: Choice) -> float:
        """The mean of a choice's effect."""
        return float(self.mean[self.places[choice]]) if choice in self.places else 0.0

    def _effect_columns(self, case_id: str, values: Values) -> list[int]:
        keys: Iterable[Choice | str] = (*values, case_id)
        return [self.places[key] for key in keys if key in self.places]


@lru_cache(maxsize=256)
def effects_of(observations: tuple[Observation, ...]) -> Effects:
    """The posterior of the effects, normal, with a variance for each kind of choice that is
    estimated along with them (D. J. C. MacKay, Neural Computation 4, 1992).

    Costs are compared within their blocks. Configurations with several rounds have an effect of
    their own, for what choices do only together. Noise has Student's t distribution.
    """
    places, groups = _places(observations)
    if not places:
        return Effects({}, np.empty(0), np.empty((0, 0)), {})
    design = np.zeros((len(observations), len(places)))
    for row, (case_id, values, _, _) in enumerate(observations):
        for key in (*values, case_id):
            if key in places:
                design[row, places[key]] = 1.0
    logs = np.log([cost for *_, cost in observations])
    blocks = np.unique([block for _, _, block, _ in observations], return_inverse=True)[1]
    names = sorted(set(groups))
    group = np.array([names.index(name) for name in groups])
    spreads = np.full(len(names), _FIRST_SPREAD**2)
    noise, weights = _FIRST_NOISE**2, np.ones(len(logs))
    for _ in range(_ITERATIONS):
        centred_design, target = _without_block_means(design, logs, blocks, weights)
        weighted_design = centred_design * weights[:, None] / noise
        covariance = np.linalg.inv(
            centred_design.T @ weighted_design + np.diag(1.0 / spreads[group])
        )
        mean = covariance @ (weighted_design.T @ target)
        squares = mean**2 + np.diag(covariance)
        spreads = np.bincount(group, squares) / np.bincount(group)
        spreads = np.maximum(spreads, _MINIMUM_SPREAD**2)
        residuals = target - centred_design @ mean
        fit_variance = np.einsum(
            "np,pq,nq->n", centred_design, covariance, centred_design, optimize=True
        )
        noise = max(float(weights @ (residuals**2 + fit_variance)) / len(logs), _MINIMUM_NOISE**2)
        weights = (_TAIL + 1.0) / (_TAIL + residuals**2 / noise)
    deviations = dict(zip(names, np.sqrt(spreads).tolist(), strict=True))
    return Effects(places, mean, covariance, deviations)


def _places(observations: Sequence[Observation]) -> tuple[dict[Choice | str, int], list[str]]:
    """Where each effect stands, and of which kind it is."""
    counts: dict[str, int] = {}
    places: dict[Choice | str, int] = {}
    groups: list[str] = []
    for case_id, values, _, _ in observations:
        counts[case_id] = counts.get(case_id, 0) + 1
        for choice in values:
            if choice not in places:
                places[choice] = len(groups)
                groups.append(choice[0])
    for case_id, count in counts.items():
        if count > 1:
            places[case_id] = len(groups)
            groups.append(_CONFIGURATION)
    return places, groups


def _without_block_means(
    design: np.ndarray, logs: np.ndarray, blocks: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Without the means of the blocks, which share how busy the machine was."""
    totals = np.bincount(blocks, weights)
    columns = np.zeros((len(totals), design.shape[1]))
    np.add.at(columns, blocks, design * weights[:, None])
    level = np.bincount(blocks, weights * logs) / totals
    return design - (columns / totals[:, None])[blocks], logs - level[blocks]


RUNGS = (1, 1, 2)
"""So many rounds, then the better half goes on."""
TRIAL = 4
"""Rounds of the last of a race, after which one of them takes the lead or none does."""
LEADING = 0.5
"""A challenger takes the lead whose cost is expected to be lower by so many standard deviations:
the final rounds measure what came of it, so that here a gain is rather followed than missed."""
MINIMUM_GAIN = 0.005
"""A race that is expected to have brought less was in vain."""
WORSE = 2.0
"""A configuration is out whose cost is expected to be higher by so many standard deviations."""
FINALISTS = 3
CHANGED, SAMPLED, DRAWN, CHANGES = 5, 12, 2, 2
"""Of each race so many single changes of what leads, configurations that are best by a sample of
the effects, and drawn ones that differ in so many choices."""
GENERATIONS = 8
PATIENCE = 2
"""The search ends when so many in a row brought nothing."""
HOPELESS = 1.5
"""What is expected to cost so many times more is out."""

Block = tuple[tuple[Case, int], ...]
"""Cases with the number of their round, in the order in which they are measured."""


class Figures(Protocol):
    """What rounds told: lower costs are better."""

    def cost(self, case: Case, number: int) -> float | None:
        """Of one round; None where it gave no figure."""

    def exclusion_reason(self, case: Case, stop: int) -> str:
        """Why the case can't win, by its rounds of lower numbers; "" if it can."""

    def fails(self, case: Case, stop: int) -> bool:
        """Whether one of these rounds gave no figure, so that more of them tell nothing."""


@dataclass(slots=True)
class Search:
    """`lead` is the best so far, `rival` the nearest other one. Run `blocks` to its end, giving it
    what each block saw through `seen`, or stop anywhere."""

    space: Space
    figures: Figures
    seed: int
    lead: Case = field(init=False)
    rival: Case | None = None
    number: int = 0
    generation: int = 0
    _measured_rounds: list[tuple[Case, int]] = field(default_factory=list)
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
            in_vain = 0 if (yield from self._race(self._contenders())) else in_vain + 1

    def _contenders(self) -> Iterator[Case]:
        """What is best by the effects of all choices, and what lies around the leader."""
        rng = random.Random(f"{self.seed}:{self.generation}")
        effects = self._effects()
        for case in self._cheapest(effects.expected):
            if self._gap_to_lead(effects, case) < math.log(HOPELESS):
                yield case
        numbers = np.random.default_rng(rng.getrandbits(63))
        for _ in range(SAMPLED):
            effect = effects.sample(numbers)
            yield min(
                self._cheapest(effect), key=lambda case: sum(map(effect, self.space.values(case)))
            )
        yield from self.space.share_cores(self.lead)
        single = [c for c in self.space.changes(self.lead) if c.case_id not in self._beaten]
        single.sort(key=lambda case: self._gap_to_lead(effects, case) - self._spread(effects, case))
        yield from single[:CHANGED]
        for _ in range(DRAWN):
            yield self.space.random_case(self.lead, rng, CHANGES)

    def _cheapest(self, effect: Callable[[Choice], float]) -> list[Case]:
        """The best case of each runtime and precision, by such effects."""
        return [
            self.space.cheapest(runtime, precision, effect)
            for runtime in self.space.runtimes
            for precision in self.space.precisions[runtime]
        ]

    def _race(self, contenders: Iterable[Case]) -> Generator[Block, None, bool]:
        """Whether one of them takes the lead."""
        excluded_ids = {self.lead.case_id, *self._beaten}
        alive = list({c.case_id: c for c in contenders if c.case_id not in excluded_ids}.values())
        for rounds in RUNGS:
            if not alive:
                break
            for _ in range(rounds):
                yield self._block((self.lead, *alive))
            alive = self._better_half(alive)
        if self.figures.exclusion_reason(self.lead, self.number):
            self.lead, *rest = alive or [self.lead]
            self.rival = rest[0] if rest else None
            return bool(alive)
        finalists = alive[:FINALISTS]
        if not finalists:
            return False
        for _ in range(TRIAL):
            yield self._block((self.lead, *finalists))
        return self._choose_lead(finalists)

    def _block(self, cases: Sequence[Case]) -> Block:
        number = self.number
        self.number += 1
        able = [case for case in cases if not self.figures.exclusion_reason(case, number)]
        random.Random(f"{self.seed}:{number}").shuffle(able)
        self._measured_rounds += ((case, number) for case in able)
        return tuple((case, number) for case in able)

    def _effects(self) -> Effects:
        """From all rounds so far."""
        return effects_of(
            tuple(
                (case.case_id, self.space.values(case), number, cost)
                for case, number in self._measured_rounds
                if (cost := self.figures.cost(case, number))
            )
        )

    def _gap_to_lead(self, effects: Effects, case: Case) -> float:
        """By how much the logarithm of its cost is expected to be above the leader's."""
        effect = effects.predicted(case.case_id, self.space.values(case))
        return effect - effects.predicted(self.lead.case_id, self.space.values(self.lead))

    def _spread(self, effects: Effects, case: Case) -> float:
        """The standard deviation of that."""
        candidate = case.case_id, self.space.values(case)
        return effects.deviation(candidate, (self.lead.case_id, self.space.values(self.lead)))

    def _better_half(self, alive: Sequence[Case]) -> list[Case]:
        """Those with the lower half of expected costs, the best first, of which none is expected to
        be worse than what leads."""
        candidates = [case for case in alive if self._has_cost(case)]
        if not candidates:
            return []
        effects = self._effects()
        gaps = {case.case_id: self._gap_to_lead(effects, case) for case in candidates}
        candidates.sort(key=lambda case: gaps[case.case_id])
        half = candidates[: math.ceil(len(candidates) / 2)]
        if self.figures.exclusion_reason(self.lead, self.number):
            return half
        for case in candidates:
            maximum = min(WORSE * self._spread(effects, case), math.log(HOPELESS))
            if gaps[case.case_id] > maximum:
                self._beaten.add(case.case_id)
        return [case for case in half if case.case_id not in self._beaten]

    def _has_cost(self, case: Case) -> bool:
        return not self.figures.exclusion_reason(case, self.number) and any(
            self.figures.cost(m, n) for m, n in self._measured_rounds if m.case_id == case.case_id
        )

    def _choose_lead(self, finalists: Sequence[Case]) -> bool:
        """Let the best of those take the lead that are expected to cost less; whether it is worth
        another race."""
        effects = self._effects()
        able = [case for case in finalists if not self.figures.exclusion_reason(case, self.number)]
        able.sort(key=lambda case: self._gap_to_lead(effects, case))
        better = [
            c for c in able if self._gap_to_lead(effects, c) < -LEADING * self._spread(effects, c)
        ]
        if not better:
            self.rival = able[0] if able else self.rival
            return False
        gain = -self._gap_to_lead(effects, better[0])
        self.rival = better[1] if better[1:] else self.lead
        self.lead = better[0]
        return gain > MINIMUM_GAIN


def cost_pairs(
    figures: Figures, first: Case, second: Case, numbers: Sequence[int], offset: int = 0
) -> RoundPairs:
    """Of the rounds that both have, those of the second numbered so much higher."""

    def costs(case: Case, shift: int) -> dict[int, float]:
        return {number: cost for number in numbers if (cost := figures.cost(case, number + shift))}

    return pair_rounds(costs(first, 0), costs(second, offset))
