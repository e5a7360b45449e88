"""The highest rate that keeps a target: which rate is measured next, and what was found.

Pure functions of the verdicts so far, so that a resumed search goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.cases.scenario import LEAST_RATE_HZ, MOST_RATE_HZ
from app.stats.judging import Judgement

Verdict = Judgement | Literal["not_offered", "failed"]
"""`not_offered`: it breaks, and the arrivals themselves came late. `failed`: a round ended without
figures."""
BEYOND: tuple[Verdict, ...] = ("breaks", "not_offered")

BEGIN_AT = 0.7
"""Of the service rate, where the search begins."""
UP, DOWN = 2.0**0.5, 0.5
"""What a rate is multiplied by while all hold, and while none does."""
LEAST_SHARE = 0.02
"""Of the service rate: at less hardly a request meets another, and no target is missed for the
load."""
RESOLUTION = 0.025
"""The search ends when what breaks is at most so much above what holds."""
SIDE = 0.125
"""Where rates stayed undecided, neither end is looked for closer than so much of the bracket."""
DIGITS = 4
"""A rate has so many, which people can read and type."""
CURVE = (0.25, 0.5, 0.75)
"""Shares of the rate found that are measured too, so that the curve has a beginning."""
NEAR = 0.1
"""A rate is on the curve already if one was measured that is so near."""


@dataclass(frozen=True, slots=True)
class Step:
    """A rate with its verdict."""

    rate_hz: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Bracket:
    """`low_hz` is the highest rate that holds, `high_hz` the lowest above it that does not, None
    where there is none; `end` is the verdict there."""

    low_hz: float | None
    high_hz: float | None
    end: Verdict | None = None

    @property
    def middle_hz(self) -> float | None:
        """The rate that is quoted, halfway between what was shown to hold and to break."""
        if self.low_hz is None or self.high_hz is None:
            return self.low_hz
        return (self.low_hz + self.high_hz) / 2.0


def bracket(steps: Sequence[Step]) -> Bracket:
    """What the steps of a search come to so far."""
    low = max((step.rate_hz for step in steps if step.verdict == "holds"), default=None)
    beyond = [s for s in steps if s.verdict in BEYOND and (low is None or s.rate_hz > low)]
    first = min(beyond, key=lambda step: step.rate_hz, default=None)
    return Bracket(low, first.rate_hz, first.verdict) if first else Bracket(low, None)


def next_rate(steps: Sequence[Step], service_hz: float) -> float | None:
    """The rate to measure after these; None when the search is over.

    `service_hz` is how many requests a second are served when there is always one waiting.
    """
    if any(step.verdict == "failed" for step in steps):
        return None
    found = bracket(steps)
    if not steps:
        wanted: float | None = BEGIN_AT * service_hz
    elif found.high_hz is None:
        wanted = UP * max(step.rate_hz for step in steps)
    elif found.low_hz is None:
        wanted = DOWN * min(step.rate_hz for step in steps)
        wanted = wanted if wanted >= LEAST_SHARE * service_hz else None
    else:
        wanted = _between(steps, found.low_hz, found.high_hz)
    if wanted is None or not LEAST_RATE_HZ <= rounded(wanted) <= MOST_RATE_HZ:
        return None
    known = any(step.rate_hz == rounded(wanted) for step in steps)
    return None if known else rounded(wanted)


def curve_rates(found_hz: float, steps: Sequence[Step]) -> Iterator[float]:
    """The rates below the one found that its curve lacks."""
    for part in CURVE:
        rate = rounded(part * found_hz)
        if all(abs(step.rate_hz / rate - 1.0) > NEAR for step in steps):
            yield rate


def knee(curve: Iterable[tuple[float, float]]) -> float | None:
    """Of rates with their latencies the rate of the greatest rate per latency, a queue's power
    (L. Kleinrock, ICC 1979): beyond it waiting grows faster than what is served."""
    return max(curve, key=lambda point: point[0] / point[1], default=(None, 0.0))[0]


def rounded(rate_hz: float) -> float:
    """To `DIGITS` digits, the same wherever it is computed."""
    return float(f"{rate_hz:.{DIGITS}g}")


def _between(steps: Sequence[Step], low: float, high: float) -> float | None:
    """The middle of what is open: all of it, or either side of rates that stayed undecided."""
    undecided = [step.rate_hz for step in steps if low < step.rate_hz < high]
    sides = [(low, min(undecided)), (max(undecided), high)] if undecided else [(low, high)]
    least = SIDE * (high - low)
    wide = ((b + a) / 2.0 for b, a in sides if a - b > max(RESOLUTION * b, least))
    return next(wide, None)
