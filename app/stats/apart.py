"""How much later one case answers than another, from rounds measured in turn.

In microseconds and not as a ratio: what is left of a model without its null twin is an amount.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.between import LEAST_ROUNDS, reaches, skewness_of, typical
from app.stats.quantiles import CONFIDENCE, Interval


@dataclass(frozen=True, slots=True)
class Apart:
    """`value` is the longer's figure minus the shorter's, in their unit; the interval is None with
    fewer than three pairs."""

    value: float
    interval: Interval | None


def apart(
    longer: Sequence[float], shorter: Sequence[float], confidence: float = CONFIDENCE
) -> Apart | None:
    """The difference of what the rounds have typically, each pair one observation; None without.

    Each side's figure G is that of a typical round, as rows quote it. To first order a pair moves
    the difference by G_a (ln a - ln G_a) - G_b (ln b - ln G_b) (the delta method;
    Oehlert, Am. Stat. 46, 1992), and the interval is that of the mean of these, as `between` has
    it for one case: Student's t, widened for skewness. What moves both sides of a pair alike, as a
    slow minute of the machine does, is in neither.
    """
    pairs = len(longer)
    if not pairs:
        return None
    a, b = np.array(longer, float), np.array(shorter, float)
    typical_a, typical_b = typical(a), typical(b)
    value = typical_a - typical_b
    if pairs < LEAST_ROUNDS:
        return Apart(value, None)
    moved = typical_a * np.log(a / typical_a) - typical_b * np.log(b / typical_b)
    error = float(np.std(moved, ddof=1)) / math.sqrt(pairs)
    if error == 0.0:
        return Apart(value, Interval(value, value))
    below, above = reaches(pairs, skewness_of(moved), confidence)
    return Apart(value, Interval(value - below * error, value + above * error))
