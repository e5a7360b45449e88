"""Rates of machines that have nothing in common, added: what they serve, and how surely."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from app.stats.between import LEAST_ROUNDS, deviation
from app.stats.quantiles import CONFIDENCE, Interval


def interval_of_sum(
    rates: Sequence[float],
    by_round: Sequence[Sequence[float]],
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """The interval of the sum of `rates`, of each of which there are its rounds' own figures.

    Only how these spread counts, so they may be in another unit. To first order the sum's variance
    is the sum of v = (r s)^2 / n, with r a rate and s the standard deviation of the logarithms of
    its n rounds; the reach is Student's t with (sum v)^2 / sum(v^2 / (n - 1)) degrees of freedom
    (B. L. Welch, Biometrika 34, 1947), on the logarithm of the sum, since rates are positive.
    Rounds of two machines are no pairs. None where one has fewer than three.
    """
    if min(map(len, by_round), default=0) < LEAST_ROUNDS:
        return None
    total = sum(rates)
    counts = [len(rounds) for rounds in by_round]
    spreads = [deviation(np.log(np.array(rounds))) for rounds in by_round]
    parts = [(r * s) ** 2 / n for r, s, n in zip(rates, spreads, counts, strict=True)]
    variance = sum(parts)
    if variance == 0.0:
        return Interval(total, total)
    weights = sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True))
    reach = float(stdtrit(variance**2 / weights, 0.5 + confidence / 2.0))
    error = reach * math.sqrt(variance) / total
    return Interval(total * math.exp(-error), total * math.exp(error))
