"""The estimate of the highest rate that keeps a target, from the late requests at each rate.

A percentile is kept if few enough requests take longer than the target. Their share takes far
fewer requests than the percentile's own interval, and is unbiased however few of a round are
late. Pure functions.

Rounds at different rates are observations of one curve: the share of late requests, or the mean
latency, over the rate. Pure functions of what rounds showed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.cases.objectives import MAXIMUM_ROUNDS, MINIMUM_ROUNDS, Target
from app.stats.intervals import (
    beta_quantile,
    interval_between,
    reaches,
    skewness_of,
    t_quantile,
    typical,
)
from app.stats.quantiles import CONFIDENCE, Interval, order_statistic
from app.stats.tails import independent_runs

Judgement = Literal["holds", "breaks", "undecided"]
"""`undecided`: the interval has the target within it, after as many rounds as there may be."""

FIRST_LOOK = 4
"""Rounds after which a rate is judged for the first time; the second and last time is after the
most that it may have. A verdict is one-sided, nominally 2.5 % at each look; `docs/load.md`
tells how often it held."""
LATE_IN_A_ROUND, CLUSTERS_IN_A_ROUND = 20, 2
"""A round is long enough for so many late requests, and so many clusters of them, where the target
is just kept."""
AS_A_MEAN = 0.01
"""A mean takes as many requests as a percentile that so many are beyond."""


@dataclass(frozen=True, slots=True)
class RateRound:
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
    cluster_size = 8.0 * depth**2
    if utilisation < 1.0:
        spare = 1.0 - utilisation
        cluster_size = min(
            cluster_size, 4.0 * depth * utilisation / spare, 8.0 * utilisation / spare**2
        )
    return max(1.0, cluster_size)


def required_requests(target: Target, cluster_size: float) -> int:
    """How many requests a round is to have, where so many are late together."""
    share_limit = AS_A_MEAN if target.percentile is None else target.allowed
    return math.ceil(max(LATE_IN_A_ROUND, CLUSTERS_IN_A_ROUND * cluster_size) / share_limit)


def summarise_round(
    latencies_us: np.ndarray,
    target: Target,
    variance_ratio: float,
    lateness_us: np.ndarray | None = None,
) -> RateRound:
    """One round's latencies [n], in the order of the arrivals, and its generator's lateness [m].

    Late requests come in clusters, which counts as many independent ones as its number varies:
    by clusters as the round shows them (`independent_runs`), or by `variance_ratio` of theory,
    whichever are fewer.
    """
    is_late = latencies_us > target.limit_us
    requests, late = len(latencies_us), int(np.count_nonzero(is_late))
    (cluster_count,) = independent_runs([is_late])
    independent = min(cluster_count, requests / variance_ratio)
    generator_us = None if lateness_us is None else _figure_us(lateness_us, target)
    figure = _figure_us(latencies_us, target)
    return RateRound(requests, independent, late, figure, generator_us or 0.0)


def figure_us(rounds: Sequence[RateRound]) -> float | None:
    """The percentile or mean of a typical round; None where one has too few requests."""
    figures = [rate_round.figure_us for rate_round in rounds if rate_round.figure_us is not None]
    return typical(np.array(figures)) if figures and len(figures) == len(rounds) else None


def late_share(rounds: Iterable[RateRound]) -> float:
    """The mean of the rounds' shares of late requests."""
    return float(np.mean([rate_round.late / rate_round.requests for rate_round in rounds]))


def interval(rounds: Sequence[RateRound], target: Target) -> Interval | None:
    """Of the share of late requests, or of the mean in microseconds; None with too few rounds.

    That over the rounds, as `app.stats.intervals` has it, widened to hold that of all requests
    together, so many as are independent (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934).
    """
    if len(rounds) < MINIMUM_ROUNDS:
        return None
    if target.percentile is None:
        return interval_between(np.array([rate_round.figure_us for rate_round in rounds]))
    shares = np.array([rate_round.late / rate_round.requests for rate_round in rounds])
    middle, deviation = float(shares.mean()), float(shares.std(ddof=1))
    low, high = _clopper_pearson(middle, sum(rate_round.independent for rate_round in rounds))
    if deviation:
        low_reach, high_reach = reaches(len(shares), skewness_of(shares), CONFIDENCE)
        error = deviation / math.sqrt(len(shares))
        low, high = min(low, middle - low_reach * error), max(high, middle + high_reach * error)
    return Interval(max(0.0, low), min(1.0, high))


def judge_rate(
    rounds: Sequence[RateRound], target: Target, maximum: int = MAXIMUM_ROUNDS
) -> Judgement | None:
    """What these rounds at one rate come to; None while it takes more of them."""
    count = len(rounds)
    if count not in (min(FIRST_LOOK, maximum), maximum):
        return None
    bounds, allowed_share = interval(rounds, target), target.allowed
    if bounds is not None and bounds.high <= allowed_share:
        return "holds"
    if bounds is not None and bounds.low > allowed_share:
        return "breaks"
    return "undecided" if count >= maximum else None


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


_SLOPES = np.geomspace(0.2, 20.0, 23)
"""The slope of the curve, over what heavy traffic makes it."""
_SLOPE_SPREAD = math.log(2.0)
"""The standard deviation of the logarithm of that factor."""
_BUSIEST = 0.95
"""The slope is not taken to be steeper than at such a utilisation."""
_COARSE, _FINE, _MAXIMUM_FINE = 0.03, 1e-3, 500
"""Relative steps between the rates at which the likelihood is computed, and the most fine ones."""
_MINIMUM_VARIANCE = 1e-8
"""Of the rounds' means, as shares of them: they are known to a ten-thousandth."""
_DISTANCE_SCALE, _NEAR_OF_MEAN = 1.5, 0.4
"""The curve is straight only near the target: a round whose expectation is so many e-folds from it
has half of the weight."""
_MINIMUM_WEIGHT = 0.05
"""Of a share far from the target, which a curve that is not straight changes little."""
_ITERATIONS = 3
"""Weights follow from the limit, and the limit from the weights."""
_FARTHEST = 0.08
"""A share is not expected to be less than this part of what is allowed, where residuals are
compared with it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one round at a rate showed."""

    rate_hz: float
    rate_round: RateRound


@dataclass(frozen=True, slots=True)
class Estimate:
    """`best_hz` is the likeliest limit, the interval's ends None where the rounds do not bound it.

    `slope` is by how much the logit of the share, or the logarithm of the mean, rises there with
    an e-fold of the rate. `rounds` is the sum of the rounds' weights.
    """

    best_hz: float
    low_hz: float | None
    high_hz: float | None
    slope: float
    rounds: float

    @property
    def width(self) -> float:
        """How far the ends are apart, as a share of the lower one."""
        if self.low_hz is None or self.high_hz is None:
            return math.inf
        return self.high_hz / self.low_hz - 1.0


def expected_slope(rate_hz: np.ndarray | float, target: Target, capacity_hz: float) -> np.ndarray:
    """The slope of the curve at its target in heavy traffic.

    The share of waits beyond x is exp(-2 d x / s^2) with d = 1 - utilisation, so that its logarithm
    rises by ln(1 / p) u / (1 - u) with an e-fold of the utilisation u, and that of a mean by
    u / (1 - u). One more is the slope where hardly any two requests meet.
    """
    busy = np.minimum(np.asarray(rate_hz) / capacity_hz, _BUSIEST)
    slope: np.ndarray = 1.0 + exceedance(target) * busy / (1.0 - busy)
    return slope


def estimate(
    observations: Sequence[Observation],
    target: Target,
    capacity_hz: float,
    least_hz: float,
    most_hz: float,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The limit between `least_hz` and `most_hz`, and its interval, by the profile likelihood.

    The logit of the share of late requests, or the inverse of a mean, is a straight line over the
    rate near the target. Rounds differ by more than independent requests do: the likelihood is
    divided by the dispersion (R. W. M. Wedderburn, Biometrika 61, 1974), which is the mean squared
    residual of the rounds, or that of the clusters within them if it is larger. The interval holds
    the rates whose profile is within half of the squared quantile of Student's t of the greatest
    (D. J. Venzon and S. H. Moolgavkar, Appl. Statist. 37, 1988).
    """
    count = math.ceil(math.log(most_hz / least_hz) / _COARSE) + 1
    rates_hz = np.geomspace(least_hz, most_hz, count)
    curve = _Curve(observations, target, capacity_hz)
    coarse = curve.profile(rates_hz, confidence)
    for _ in range(_ITERATIONS):
        curve.weigh(coarse)
        coarse = curve.profile(rates_hz, confidence)
    low_hz, high_hz = coarse.low_hz or least_hz, coarse.high_hz or most_hz
    first_hz = max(least_hz, low_hz / (1.0 + 2.0 * _COARSE))
    last_hz = min(most_hz, high_hz * (1.0 + 2.0 * _COARSE))
    count = min(math.ceil(math.log(last_hz / first_hz) / _FINE), _MAXIMUM_FINE) + 1
    fine = curve.profile(np.geomspace(first_hz, last_hz, count), confidence)
    return replace(
        fine,
        low_hz=None if coarse.low_hz is None else fine.low_hz,
        high_hz=None if coarse.high_hz is None else fine.high_hz,
    )


class _Curve:
    """Rounds with the likelihood of a limit and a slope; all weigh alike at first."""

    def __init__(
        self, observations: Sequence[Observation], target: Target, capacity_hz: float
    ) -> None:
        self._target, self._capacity_hz = target, capacity_hz
        self._rates = np.array([item.rate_hz for item in observations])
        self._weights = np.ones(len(observations))
        rounds = [item.rate_round for item in observations]
        self._requests = np.array([item.requests for item in rounds], float)
        if target.percentile is None:
            figures = np.array([item.figure_us for item in rounds], float)
            self._values = 1.0 - target.limit_us / figures
        else:
            self._values = np.array([item.late / item.requests for item in rounds])
        self._independent = np.array([item.independent for item in rounds])

    def weigh(self, limit: Estimate) -> None:
        """The nearest round counts in full, others the less the further away their rate is."""
        scale = _NEAR_OF_MEAN if self._target.percentile is None else _DISTANCE_SCALE
        folds = limit.slope * (self._rates / limit.best_hz - 1.0)
        self._weights = 1.0 / (1.0 + (folds / scale) ** 4)
        if self._target.percentile is not None:
            self._weights = np.maximum(self._weights, _MINIMUM_WEIGHT)
        self._weights /= self._weights.max()

    def profile(self, rates_hz: np.ndarray, confidence: float) -> Estimate:
        """Over these limits, ascending."""
        slopes = expected_slope(rates_hz, self._target, self._capacity_hz)[:, None] * _SLOPES
        fits = self._log_likelihood(rates_hz, slopes)
        prior = -0.5 * (np.log(_SLOPES) / _SLOPE_SPREAD) ** 2
        minimum = self._least_dispersion()
        dispersion = minimum
        for _ in range(2):
            total = fits / dispersion + prior
            place, steep = divmod(int(np.argmax(total)), len(_SLOPES))
            residual = self._dispersion(rates_hz[place], slopes[place, steep])
            dispersion = max(minimum, residual)
        total = fits / dispersion + prior
        best, steep = divmod(int(np.argmax(total)), len(_SLOPES))
        profile = total.max(axis=1)
        reach = t_quantile(self._freedom, 0.5 + confidence / 2.0) ** 2 / 2.0
        places = np.flatnonzero(profile >= profile[best] - reach)
        first, last = int(places[0]), int(places[-1])
        return Estimate(
            float(rates_hz[best]),
            float(rates_hz[first]) if first else None,
            float(rates_hz[last]) if last < len(rates_hz) - 1 else None,
            float(slopes[best, steep]),
            float(self._weights.sum()),
        )

    @property
    def _freedom(self) -> float:
        return max(float(self._weights.sum()) - 2.0, 1.0)

    def _log_likelihood(self, limits_hz: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Of each limit [l] and slope [l, s], up to a constant."""
        total = np.zeros(slopes.shape)
        for rate_hz in np.unique(self._rates):
            mask = self._rates == rate_hz
            values, weights = self._values[mask], self._weights[mask]
            expected = self._expected(rate_hz, limits_hz[:, None], slopes)
            if self._target.percentile is None:
                middle = float(weights @ values / weights.sum())
                total -= 0.5 * weights.sum() * (middle - expected) ** 2
            else:
                requests = weights * self._requests[mask]
                total += (requests @ values) * expected
                # The logarithm of 1 + exp(expected), in half of the time of np.logaddexp.
                total -= requests.sum() * np.maximum(expected, 0.0)
                total -= requests.sum() * np.log1p(np.exp(-np.abs(expected)))
        return total

    def _least_dispersion(self) -> float:
        """What requests that are late together make of it; next to none of a mean."""
        if self._target.percentile is None:
            return _MINIMUM_VARIANCE
        weights = self._weights
        return float(weights @ self._requests) / float(weights @ self._independent)

    def _expected(
        self, rates_hz: np.ndarray, limits_hz: np.ndarray | float, slopes: np.ndarray | float
    ) -> np.ndarray:
        """The logit of the share; of a mean 1 less what the limit is of it, as the inverse of a
        mean latency is nearly a straight line over the rate, and exactly that of M/M/1."""
        excess: np.ndarray = slopes * (rates_hz / limits_hz - 1.0)
        if self._target.percentile is None:
            return excess
        return excess + math.log(self._target.allowed / (1.0 - self._target.allowed))

    def _dispersion(self, limit_hz: float, slope: float) -> float:
        """The mean squared residual of the rounds, over that of independent requests."""
        expected = self._expected(self._rates, limit_hz, slope)
        if self._target.percentile is None:
            squares = np.square(self._values - expected)
        else:
            minimum = _FARTHEST * self._target.allowed
            shares = np.clip(np.exp(-np.logaddexp(0.0, -expected)), minimum, 1.0 - minimum)
            squares = self._requests * (self._values - shares) ** 2 / (shares * (1.0 - shares))
        return float(self._weights @ squares) / self._freedom
