"""What a case still lacks: samples before a percentile is told, rounds before it is sure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from app.stats.between import LEAST_ROUNDS
from app.stats.quantiles import CONFIDENCE, needed_samples

NARROW = 0.05
"""An interval that reaches so far to either side, as a share of the figure, is called narrow."""


def samples_needed(quantile: float, samples: int, independent_share: float = 1.0) -> int:
    """How many more samples of all rounds the percentile takes; 0 where there are enough.

    `independent_share` is the extremal index: dependent samples are worth so much less.
    """
    return max(0, math.ceil(needed_samples(quantile) / independent_share) - samples)


def rounds_needed(figures: Sequence[float], share: float = NARROW) -> int | None:
    """How many rounds in all give an interval of +-share, if more spread as these do.

    The least n with t(n - 1, 0.975) s <= ln(1 + share) sqrt(n), s the deviation of the rounds'
    logarithms. None below three rounds, which don't tell how far rounds spread.
    """
    if len(figures) < LEAST_ROUNDS:
        return None
    spread = float(np.std(np.log(np.array(figures)), ddof=1)) / math.log1p(share)
    # Student's t is wider than the normal law, whose 1.96 is where the search begins.
    rounds = max(LEAST_ROUNDS, math.floor((1.96 * spread) ** 2))
    while float(stdtrit(rounds - 1, 0.5 + CONFIDENCE / 2)) * spread > math.sqrt(rounds):
        rounds += 1
    return rounds
