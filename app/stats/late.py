"""The share of all runs that took longer than a deadline, with its interval.

A pure function of samples. Runs are no independent draws: late ones come in clusters, and
processes differ. So the exact binomial interval is that of as many runs as they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.between import LEAST_ROUNDS
from app.stats.dependence import independent_runs
from app.stats.distributions import beta_quantile, t_quantile
from app.stats.quantiles import CONFIDENCE, Interval


@dataclass(frozen=True, slots=True)
class Late:
    """`runs` of all were later, which is the `share`; `absent` says why there is no interval."""

    runs: int
    share: float
    interval: Interval | None
    absent: str = ""


def later_than(
    deadline: float, rounds: Sequence[np.ndarray], confidence: float = CONFIDENCE
) -> Late:
    """What share of all runs took longer than `deadline`, in the unit of the latencies.

    `rounds` are at least one, each its latencies [n] in order of time. The interval is Clopper and
    Pearson's, of the effective number of runs: that of independent clusters, as for the tail of a
    percentile, or where rounds differ by more than these explain, the number that their spread
    tells (Korn and Graubard, Survey Methodology 24, 1998), with Student's t for how few they are.
    """
    runs = np.array([len(one) for one in rounds], float)
    late = np.array([np.count_nonzero(one > deadline) for one in rounds], float)
    share = float(late.sum() / runs.sum())
    if len(rounds) < LEAST_ROUNDS:
        return Late(int(late.sum()), share, None, f"{len(rounds)} of {LEAST_ROUNDS} rounds")
    worth = min(
        _independent(deadline, rounds, share), _worth_between(runs, late, share, confidence)
    )
    return Late(int(late.sum()), share, exact_interval(share * worth, worth, confidence))


def exact_interval(late: float, runs: float, confidence: float = CONFIDENCE) -> Interval:
    """Clopper and Pearson's interval of a share, of numbers that need not be whole."""
    tail = (1.0 - confidence) / 2.0
    low = beta_quantile(late, runs - late + 1.0, tail) if late > 0 else 0.0
    high = beta_quantile(late + 1.0, runs - late, 1.0 - tail) if late < runs else 1.0
    return Interval(low, high)


def _independent(deadline: float, rounds: Sequence[np.ndarray], share: float) -> float:
    """How many independent runs all rounds are worth: the rarer side comes in clusters."""
    side = 1.0 if share <= 0.5 else -1.0
    return sum(independent_runs([side * one > side * deadline for one in rounds]))


def _worth_between(runs: np.ndarray, late: np.ndarray, share: float, confidence: float) -> float:
    """How many independent runs would leave the share as uncertain as the rounds' spread does."""
    rounds, total = len(runs), runs.sum()
    variance = rounds / (rounds - 1) * np.sum((late - share * runs) ** 2) / total**2
    if variance == 0.0:
        return float(total)
    tail = 0.5 + confidence / 2.0
    few = (t_quantile(total - 1, tail) / t_quantile(rounds - 1, tail)) ** 2
    return float(min(share * (1.0 - share) / variance * few, total))
