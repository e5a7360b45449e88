"""Rates of machines that have nothing in common, added: how surely their sum is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.stats.quantiles import Interval


def interval_of_sum(figures: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """The interval of the sum of figures that are independent of each other, from their own.

    Each interval tells how far its figure may lie on either side, and what is independent adds by
    squares: from S - sqrt(sum (x - low)^2) to S + sqrt(sum (high - x)^2), at the confidence of the
    intervals (G. Y. Zou and A. Donner, Statist. Med. 27, 2008). So the long side of a skewed one
    stays the longer.
    """
    total = sum(figures)
    pairs = list(zip(figures, intervals, strict=True))
    below = math.sqrt(sum((figure - ends.low) ** 2 for figure, ends in pairs))
    above = math.sqrt(sum((ends.high - figure) ** 2 for figure, ends in pairs))
    return Interval(total - below, total + above)
