"""What a case still lacks: samples before a percentile is told, rounds before it is sure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.stats.between import LEAST_ROUNDS, deviation, reaches, skewness_of, spread_limit
from app.stats.quantiles import CONFIDENCE, needed_samples

NARROW = 0.05
"""An interval that reaches so far to either side, as a share of the figure, is called narrow."""


def samples_needed(quantile: float, samples: int) -> int:
    """How many more samples of all rounds the percentile takes; 0 where there are enough."""
    return max(0, needed_samples(quantile) - samples)


def rounds_needed(
    figures: Sequence[float],
    share: float = NARROW,
    confidence: float = CONFIDENCE,
    inflation: float = 1.0,
) -> int | None:
    """How many rounds in all give an interval of +-share, if more spread as these do.

    The fewest for which the interval over rounds (`between.py`), with the deviation and the
    skewness of these figures and the `inflation` of their correlation, reaches no farther. More
    rounds than these spread by what the deviation is at most (`spread_limit`). None below three
    rounds, which tell neither.
    """
    if len(figures) < LEAST_ROUNDS:
        return None
    logarithms = np.log(np.array(figures))
    spread = inflation * deviation(logarithms)
    if not spread:
        return LEAST_ROUNDS
    skewness, edge = skewness_of(logarithms), math.log1p(share)
    limit = spread_limit(spread, len(figures) - 1)

    def narrow(rounds: int) -> bool:
        below, above = reaches(rounds, skewness, confidence)
        error = (spread if rounds <= len(figures) else limit) / math.sqrt(rounds)
        return above * error <= edge and -math.expm1(-below * error) <= share

    # Student's t reaches farther than the normal law, whose 1.96 is where the search begins.
    rounds = max(LEAST_ROUNDS, math.floor((1.96 * spread / edge) ** 2))
    while not narrow(rounds):
        rounds += 1
    return rounds
