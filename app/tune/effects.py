"""What each choice does to the cost, estimated from all rounds of a search at once.

A round says something of every choice of its configuration, so that effects too small to be seen in
a comparison of two configurations add up. Pure functions of the costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from app.tune.space import Choice

Values = tuple[Choice, ...]
"""All that is chosen in a configuration."""
Observation = tuple[str, Values, int, float]
"""A configuration's id and choices, the number of its block, and the cost."""

_ITERATIONS = 12
_TAIL = 4.0
"""Degrees of freedom of the noise: a slow process counts less than a typical one."""
_LEAST_SPREAD, _LEAST_NOISE = 1e-4, 1e-3
"""Standard deviations of logarithms."""
_FIRST_SPREAD, _FIRST_NOISE = 0.1, 0.05
_OWN = "configuration"
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
        return float(sum(self.mean[place] for place in self._of(case_id, values)))

    def deviation(self, first: tuple[str, Values], second: tuple[str, Values]) -> float:
        """The standard deviation of the difference between the logarithms of two costs."""
        apart = np.zeros(len(self.mean))
        unseen = 0.0
        for (case_id, values), sign in ((first, 1.0), (second, -1.0)):
            np.add.at(apart, self._of(case_id, values), sign)
            if case_id not in self.places:
                unseen += self.spreads.get(_OWN, 0.0) ** 2
        for name, value in set(first[1]) ^ set(second[1]):
            if (name, value) not in self.places:
                unseen += self.spreads.get(name, _FIRST_SPREAD) ** 2
        return float(np.sqrt(max(apart @ self.covariance @ apart, 0.0) + unseen))

    def drawn(self, rng: np.random.Generator) -> Callable[[Choice], float]:
        """The effects as they may be, by the posterior: what is uncertain is tried."""
        roots, axes = np.linalg.eigh(self.covariance)
        noise = axes @ (np.sqrt(np.maximum(roots, 0.0)) * rng.standard_normal(len(roots)))
        effects = self.mean + noise
        unseen: dict[Choice, float] = {}

        def effect(choice: Choice) -> float:
            if choice in self.places:
                return float(effects[self.places[choice]])
            if choice not in unseen:
                unseen[choice] = self.spreads.get(choice[0], _FIRST_SPREAD) * rng.standard_normal()
            return unseen[choice]

        return effect

    def expected(self, choice: Choice) -> float:
        """The mean of a choice's effect."""
        return float(self.mean[self.places[choice]]) if choice in self.places else 0.0

    def _of(self, case_id: str, values: Values) -> list[int]:
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
        inside, target = _within(design, logs, blocks, weights)
        weighed = inside * weights[:, None] / noise
        covariance = np.linalg.inv(inside.T @ weighed + np.diag(1.0 / spreads[group]))
        mean = covariance @ (weighed.T @ target)
        squares = mean**2 + np.diag(covariance)
        spreads = np.bincount(group, squares) / np.bincount(group)
        spreads = np.maximum(spreads, _LEAST_SPREAD**2)
        residuals = target - inside @ mean
        of_fit = np.einsum("np,pq,nq->n", inside, covariance, inside, optimize=True)
        noise = max(float(weights @ (residuals**2 + of_fit)) / len(logs), _LEAST_NOISE**2)
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
            groups.append(_OWN)
    return places, groups


def _within(
    design: np.ndarray, logs: np.ndarray, blocks: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Without the means of the blocks, which share how busy the machine was."""
    totals = np.bincount(blocks, weights)
    columns = np.zeros((len(totals), design.shape[1]))
    np.add.at(columns, blocks, design * weights[:, None])
    level = np.bincount(blocks, weights * logs) / totals
    return design - (columns / totals[:, None])[blocks], logs - level[blocks]
