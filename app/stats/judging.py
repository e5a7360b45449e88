"""Whether a rate keeps a target, from its rounds: an interval of how many requests are late.

A percentile is kept if few enough requests take longer than the target. Their share takes far
fewer requests than the percentile's own interval, and is unbiased however few of a round are
late. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.cases.target import LEAST_ROUNDS, MOST_ROUNDS, Target
from app.stats.between import interval_between, reaches, skewness_of, typical
from app.stats.dependence import independent_runs
from app.stats.distributions import beta_quantile
from app.stats.quantiles import CONFIDENCE, Interval, order_statistic

Judgement = Literal["holds", "breaks", "undecided"]
"""`undecided`: the interval has the target within it, after as many rounds as there may be."""

FIRST_LOOK = 4
"""Rounds after which a rate is judged for the first time; the second and last time is after the
most that it may have. A verdict is one-sided, nominally 2.5 % at each look; `docs/capacity.md`
tells how often it held."""
LATE_IN_A_ROUND, CLUSTERS_IN_A_ROUND = 20, 2
"""A round is long enough for so many late requests, and so many clusters of them, where the target
is just kept."""
AS_A_MEAN = 0.01
"""A mean takes as many requests as a percentile that so many are beyond."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One round at a rate: how many `requests` there were, as how many `independent` ones they
    count, how many were `late`, and the round's own percentile or mean (None: too few).

    `generator_us` is how late requests were that a lane was waiting for, at the same percentile.
    """

    requests: int
    independent: float
    late: int
    figure_us: float | None
    generator_us: float = 0.0


def cluster(target: Target, service_hz: float, utilisation: float) -> float:
    """How many requests are late together, once one is; at least 1, rather too many than too few.

    In heavy traffic the wait is a Brownian motion with drift -d and variance s^2 that is reflected
    at 0: it exceeds x with probability exp(-2 d x / s^2), and once it does, stays above for
    s^2 / (2 d^2) services (D. Aldous, Probability Approximations via the Poisson Clumping
    Heuristic, 1989). d is 1 - utilisation, s^2 is 1 of constant services and 2 of exponential
    ones. Where the target x is just kept, with probability p of being late, that is
    2 (x / ln(1 / p))^2 / s^2. Taken is the lesser of 2 (x / ln(1 / p))^2 and 2 / d^2.
    """
    depth = target.limit_us * 1e-6 * service_hz / exceedance(target)
    if utilisation < 1.0:
        depth = min(depth, 1.0 / (1.0 - utilisation))
    return max(1.0, 2.0 * depth**2)


def dispersion(target: Target, service_hz: float, utilisation: float) -> float:
    """The variance of the number of late requests over that of as many independent ones.

    A cluster's mean square over its mean: the time that a Brownian motion with drift -d and
    variance s^2 spends above its start has the mean s^2 / (2 d^2) and the second moment s^4 / d^4,
    so that it is 2 s^2 / d^2 services, in which utilisation times as many requests come. Where the
    target x is just kept, s^2 is 2 d x / ln(1 / p). It is between 1, as the gaps are drawn, and 4.
    """
    depth = target.limit_us * 1e-6 * service_hz / exceedance(target)
    together = 8.0 * depth**2
    if utilisation < 1.0:
        spare = 1.0 - utilisation
        together = min(together, 4.0 * depth * utilisation / spare, 8.0 * utilisation / spare**2)
    return max(1.0, together)


def requests_wanted(target: Target, late_together: float) -> int:
    """How many requests a round is to have, where so many are late together."""
    beyond = AS_A_MEAN if target.percentile is None else target.allowed
    return math.ceil(max(LATE_IN_A_ROUND, CLUSTERS_IN_A_ROUND * late_together) / beyond)


def seen(
    latencies_us: np.ndarray,
    target: Target,
    dispersed: float,
    lateness_us: np.ndarray | None = None,
) -> Seen:
    """One round's latencies [n], in the order of the arrivals, and its generator's lateness [m].

    Late requests come in clusters, which counts as many independent ones as its number varies:
    by clusters as the round shows them (`independent_runs`), or by `dispersed` of theory, whichever
    are fewer.
    """
    is_late = latencies_us > target.limit_us
    requests, late = len(latencies_us), int(np.count_nonzero(is_late))
    (shown,) = independent_runs([is_late])
    independent = min(shown, requests / dispersed)
    generator_us = None if lateness_us is None else _figure_us(lateness_us, target)
    figure = _figure_us(latencies_us, target)
    return Seen(requests, independent, late, figure, generator_us or 0.0)


def figure_us(rounds: Sequence[Seen]) -> float | None:
    """The percentile or mean of a typical round; None where one has too few requests."""
    own = [one.figure_us for one in rounds if one.figure_us is not None]
    return typical(np.array(own)) if own and len(own) == len(rounds) else None


def late_share(rounds: Iterable[Seen]) -> float:
    """The mean of the rounds' shares of late requests."""
    return float(np.mean([one.late / one.requests for one in rounds]))


def interval(rounds: Sequence[Seen], target: Target) -> Interval | None:
    """Of the share of late requests, or of the mean in microseconds; None with too few rounds.

    That over the rounds, as `app.stats.between` has it, widened to hold that of all requests
    together, so many as are independent (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934).
    """
    if len(rounds) < LEAST_ROUNDS:
        return None
    if target.percentile is None:
        return interval_between(np.array([one.figure_us for one in rounds]))
    shares = np.array([one.late / one.requests for one in rounds])
    middle, deviation = float(shares.mean()), float(shares.std(ddof=1))
    low, high = _clopper_pearson(middle, sum(one.independent for one in rounds))
    if deviation:
        below, above = reaches(len(shares), skewness_of(shares), CONFIDENCE)
        error = deviation / math.sqrt(len(shares))
        low, high = min(low, middle - below * error), max(high, middle + above * error)
    return Interval(max(0.0, low), min(1.0, high))


def judged(rounds: Sequence[Seen], target: Target, most: int = MOST_ROUNDS) -> Judgement | None:
    """What these rounds at one rate come to; None while it takes more of them."""
    had = len(rounds)
    if had not in (min(FIRST_LOOK, most), most):
        return None
    found, allowed = interval(rounds, target), target.allowed
    if found is not None and found.high <= allowed:
        return "holds"
    if found is not None and found.low > allowed:
        return "breaks"
    return "undecided" if had >= most else None


def _clopper_pearson(share: float, independent: float) -> tuple[float, float]:
    tail, late = (1.0 - CONFIDENCE) / 2.0, share * independent
    low = beta_quantile(late, independent - late + 1.0, tail) if share > 0.0 else 0.0
    high = beta_quantile(late + 1.0, independent - late, 1.0 - tail) if share < 1.0 else 1.0
    return low, high


def exceedance(target: Target) -> float:
    """How many e-folds of the latency the target allows: ln(1 / (1 - q)), and 1 of a mean."""
    return 1.0 if target.percentile is None else -math.log(target.allowed)


def _figure_us(latencies_us: np.ndarray, target: Target) -> float | None:
    if not len(latencies_us):
        return None
    if target.percentile is None:
        return float(latencies_us.mean())
    if len(latencies_us) * target.allowed < 1.0:
        return None
    return order_statistic(np.sort(latencies_us), 1.0 - target.allowed)
