"""The variation between runs of the same code: the random effect of a comparison of two runs.

Rounds of one run share its boot, its memory layout, its temperature and its neighbours, so their
spread says nothing about how far the next run differs. That spread comes from earlier runs of the
machine, from a case that both runs measured without a change (the anchor), or, for medians, it is a
stated value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Source = Literal["history", "anchor", "stated"]

LEAST_PAST_RUNS = 3
"""Of two earlier runs the deviation has one degree of freedom, and t reaches 12.7 deviations."""
LEAST_DEVIATION = 0.01
"""Runs that were started one after another agree better than runs of two days: below this no
history is believed."""
STATED_DEVIATION = 0.05
"""Of the p50, where nothing else is known: runs on shared machines differ by as much."""
_PRIOR_FREEDOM = 4.0
"""With so many degrees of freedom the stated deviation enters beside what an anchor shows."""


@dataclass(frozen=True, slots=True)
class RunVariation:
    """The standard deviation of the logarithm of a figure from run to run, and its degrees of
    freedom: infinite where it is stated and not estimated.

    Figures of earlier runs scatter by what their rounds do too: `sampling` is that part of the
    variance, which a comparison must not count again.
    """

    deviation: float
    freedom: float
    source: Source
    sampling: float = 0.0

    @property
    def variance(self) -> float:
        """Of the difference of two runs."""
        return 2.0 * self.deviation**2


STATED = RunVariation(STATED_DEVIATION, math.inf, "stated")


def from_history(
    logs: Sequence[float], levels: int = 1, errors: Sequence[float] = ()
) -> RunVariation | None:
    """From the logarithms of one figure in earlier runs, levels taken out of them; None of fewer
    than three runs, or where no more runs than levels are left. `errors` are the standard errors
    of these logarithms by the runs' own rounds, where they are known."""
    freedom = len(logs) - levels
    if len(logs) < LEAST_PAST_RUNS or freedom < LEAST_PAST_RUNS - 1:
        return None
    centred = np.array(logs) - float(np.mean(logs))
    deviation = math.sqrt(float(np.add.reduce(centred * centred)) / freedom)
    sampling = float(np.mean(np.square(errors))) if len(errors) == len(logs) else 0.0
    sampling = min(sampling, deviation**2)
    return RunVariation(max(deviation, LEAST_DEVIATION), freedom, "history", sampling)


def from_anchor(first: Sequence[float], second: Sequence[float]) -> RunVariation | None:
    """From the rounds of the same unchanged case in both runs; None with fewer than two a side.

    A run is taken to deviate as a single round of the anchor does, however many rounds it has: on
    a machine whose speed wanders the mean of more rounds is no better. The anchor's own change from
    run to run adds one degree of freedom, the stated deviation four.
    """
    a, b = np.log(np.array(first)), np.log(np.array(second))
    if min(len(a), len(b)) < 2:
        return None
    between = float(b.mean() - a.mean()) ** 2 / 2.0
    within = float(np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2))
    freedom = len(a) + len(b) - 2
    prior = _PRIOR_FREEDOM * STATED_DEVIATION**2
    scattered = within / freedom
    moved = (prior + between) / (_PRIOR_FREEDOM + 1.0)
    if scattered > moved:
        return RunVariation(math.sqrt(scattered), freedom, "anchor")
    return RunVariation(math.sqrt(moved), _PRIOR_FREEDOM + 1.0, "anchor")
