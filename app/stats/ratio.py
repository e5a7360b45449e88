"""The ratio of one percentile in two runs, with an interval from the intervals of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.stats.quantiles import Interval


@dataclass(frozen=True, slots=True)
class Figure:
    """A percentile in microseconds; None for an interval that the samples did not allow."""

    value_us: float
    interval_us: Interval | None


@dataclass(frozen=True, slots=True)
class Ratio:
    """Second over first: below 1 the second is faster."""

    value: float
    interval: Interval | None

    @property
    def decided(self) -> int:
        """-1 if the whole interval lies below 1, 1 if above, else 0."""
        if self.interval is None:
            return 0
        return -1 if self.interval.high < 1.0 else int(self.interval.low > 1.0)


def ratio(first: Figure, second: Figure) -> Ratio:
    """second / first, its interval recovered from the two on a log scale.

    For a difference d of independent estimates a and b with limits (la, ua) and (lb, ub):
    d - sqrt((b - lb)^2 + (ua - a)^2) to d + sqrt((ub - b)^2 + (a - la)^2)
    (Zou & Donner, Statistics in Medicine 27, 2008, with a and b as logarithms).
    """
    value = second.value_us / first.value_us
    if first.interval_us is None or second.interval_us is None:
        return Ratio(value, None)
    below = math.hypot(
        math.log(second.value_us / second.interval_us.low),
        math.log(first.interval_us.high / first.value_us),
    )
    above = math.hypot(
        math.log(second.interval_us.high / second.value_us),
        math.log(first.value_us / first.interval_us.low),
    )
    return Ratio(value, Interval(value * math.exp(-below), value * math.exp(above)))
