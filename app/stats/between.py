"""The interval of an estimate from its values in several processes."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from app.stats.quantiles import CONFIDENCE, Interval


def interval_between(
    estimate: float, per_round: np.ndarray, confidence: float = CONFIDENCE
) -> Interval | None:
    """Student's t interval of an estimate from its values in n processes, on a log scale.

    Latencies are positive and their spread is proportional, so the interval is
    estimate * exp(+-t s / sqrt(n)) with s the standard deviation of the logarithms.
    None with fewer than three rounds, which cannot tell a spread.
    """
    rounds = len(per_round)
    if rounds < 3 or estimate <= 0.0 or np.any(per_round <= 0.0):
        return None
    spread = float(np.std(np.log(per_round), ddof=1)) / math.sqrt(rounds)
    reach = float(stdtrit(rounds - 1, 0.5 + confidence / 2.0)) * spread
    return Interval(estimate * math.exp(-reach), estimate * math.exp(reach))
