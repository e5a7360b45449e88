"""The highest rate that keeps a target, estimated from all rounds of a search together.

Rounds at different rates are observations of one curve: the share of late requests, or the mean
latency, over the rate. Pure functions of what rounds showed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.cases.target import Target
from app.stats.distributions import t_quantile
from app.stats.judging import Seen, exceedance
from app.stats.quantiles import CONFIDENCE

_SLOPES = np.geomspace(0.2, 20.0, 23)
"""The slope of the curve, over what heavy traffic makes it."""
_SLOPE_SPREAD = math.log(2.0)
"""The standard deviation of the logarithm of that factor."""
_BUSIEST = 0.95
"""The slope is not taken to be steeper than at such a utilisation."""
_COARSE, _FINE, _MOST_FINE = 0.03, 1e-3, 500
"""Relative steps between the rates at which the likelihood is computed, and the most fine ones."""
_LEAST_VARIANCE = 1e-8
"""Of the rounds' means, as shares of them: they are known to a ten-thousandth."""
_NEAR, _NEAR_OF_MEAN = 1.5, 0.4
"""The curve is straight only near the target: a round whose expectation is so many e-folds from it
has half of the weight."""
_LEAST_WEIGHT = 0.05
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
    seen: Seen


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
    found = curve.profile(rates_hz, confidence)
    for _ in range(_ITERATIONS):
        curve.weigh(found)
        found = curve.profile(rates_hz, confidence)
    low_hz, high_hz = found.low_hz or least_hz, found.high_hz or most_hz
    first_hz = max(least_hz, low_hz / (1.0 + 2.0 * _COARSE))
    last_hz = min(most_hz, high_hz * (1.0 + 2.0 * _COARSE))
    count = min(math.ceil(math.log(last_hz / first_hz) / _FINE), _MOST_FINE) + 1
    fine = curve.profile(np.geomspace(first_hz, last_hz, count), confidence)
    return replace(
        fine,
        low_hz=None if found.low_hz is None else fine.low_hz,
        high_hz=None if found.high_hz is None else fine.high_hz,
    )


class _Curve:
    """Rounds with the likelihood of a limit and a slope; all weigh alike at first."""

    def __init__(
        self, observations: Sequence[Observation], target: Target, capacity_hz: float
    ) -> None:
        self._target, self._capacity_hz = target, capacity_hz
        self._rates = np.array([one.rate_hz for one in observations])
        self._weights = np.ones(len(observations))
        rounds = [one.seen for one in observations]
        self._requests = np.array([one.requests for one in rounds], float)
        if target.percentile is None:
            figures = np.array([one.figure_us for one in rounds], float)
            self._values = 1.0 - target.limit_us / figures
        else:
            self._values = np.array([one.late / one.requests for one in rounds])
        self._independent = np.array([one.independent for one in rounds])

    def weigh(self, found: Estimate) -> None:
        """The nearest round counts in full, others the less the further away their rate is."""
        near = _NEAR_OF_MEAN if self._target.percentile is None else _NEAR
        folds = found.slope * (self._rates / found.best_hz - 1.0)
        self._weights = 1.0 / (1.0 + (folds / near) ** 4)
        if self._target.percentile is not None:
            self._weights = np.maximum(self._weights, _LEAST_WEIGHT)
        self._weights /= self._weights.max()

    def profile(self, rates_hz: np.ndarray, confidence: float) -> Estimate:
        """Over these limits, ascending."""
        slopes = expected_slope(rates_hz, self._target, self._capacity_hz)[:, None] * _SLOPES
        fits = self._log_likelihood(rates_hz, slopes)
        prior = -0.5 * (np.log(_SLOPES) / _SLOPE_SPREAD) ** 2
        least = self._least_dispersion()
        dispersion = least
        for _ in range(2):
            total = fits / dispersion + prior
            place, steep = divmod(int(np.argmax(total)), len(_SLOPES))
            residual = self._dispersion(rates_hz[place], slopes[place, steep])
            dispersion = max(least, residual)
        total = fits / dispersion + prior
        best, steep = divmod(int(np.argmax(total)), len(_SLOPES))
        profile = total.max(axis=1)
        reach = t_quantile(self._freedom, 0.5 + confidence / 2.0) ** 2 / 2.0
        within = np.flatnonzero(profile >= profile[best] - reach)
        first, last = int(within[0]), int(within[-1])
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
            here = self._rates == rate_hz
            values, weights = self._values[here], self._weights[here]
            expected = self._expected(rate_hz, limits_hz[:, None], slopes)
            if self._target.percentile is None:
                middle = float(weights @ values / weights.sum())
                total -= 0.5 * weights.sum() * (middle - expected) ** 2
            else:
                requests = weights * self._requests[here]
                total += (requests @ values) * expected
                # The logarithm of 1 + exp(expected), in half of the time of np.logaddexp.
                total -= requests.sum() * np.maximum(expected, 0.0)
                total -= requests.sum() * np.log1p(np.exp(-np.abs(expected)))
        return total

    def _least_dispersion(self) -> float:
        """What requests that are late together make of it; next to none of a mean."""
        if self._target.percentile is None:
            return _LEAST_VARIANCE
        weights = self._weights
        return float(weights @ self._requests) / float(weights @ self._independent)

    def _expected(
        self, rates_hz: np.ndarray, limits_hz: np.ndarray | float, slopes: np.ndarray | float
    ) -> np.ndarray:
        """The logit of the share; of a mean 1 less what the limit is of it, as the inverse of a
        mean latency is nearly a straight line over the rate, and exactly that of M/M/1."""
        beyond: np.ndarray = slopes * (rates_hz / limits_hz - 1.0)
        if self._target.percentile is None:
            return beyond
        return beyond + math.log(self._target.allowed / (1.0 - self._target.allowed))

    def _dispersion(self, limit_hz: float, slope: float) -> float:
        """The mean squared residual of the rounds, over that of independent requests."""
        expected = self._expected(self._rates, limit_hz, slope)
        if self._target.percentile is None:
            squared = np.square(self._values - expected)
        else:
            least = _FARTHEST * self._target.allowed
            shares = np.clip(np.exp(-np.logaddexp(0.0, -expected)), least, 1.0 - least)
            squared = self._requests * (self._values - shares) ** 2 / (shares * (1.0 - shares))
        return float(self._weights @ squared) / self._freedom
