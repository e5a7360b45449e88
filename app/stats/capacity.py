"""The highest rate that keeps a target: which rate is measured next, and the answer.

Pure functions of the rounds so far, so that a resumed search continues where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from app.cases.scenario import LEAST_RATE_HZ, MOST_RATE_HZ
from app.cases.target import LEAST_ROUNDS, Target
from app.stats.judging import FIRST_LOOK, Judgement, Seen, late_share
from app.stats.rate_fit import Estimate, Observation, estimate

Verdict = Judgement | Literal["not_offered", "failed"]
"""`not_offered`: requests came late by themselves. `failed`: a round ended without figures."""

ROUNDS_A_SEARCH = 5
"""A search has so many times `--rounds` at all its rates together."""
BEGIN_AT = 0.7
"""Of the service rate, where the search begins."""
UP, DOWN = 2.0**0.5, 0.5
"""A rate is at most so many times the highest that was measured, and at least of the lowest."""
LEAST_SHARE = 0.02
"""Of the service rate: at less hardly a request meets another, and no target is missed for the
load."""
RESOLUTION = 0.05
"""The search ends when the bracket is at most so wide, as a share of its lower end."""
LEAST_NEAR = 10
"""Rounds near the limit without which no bracket is believed to be narrow."""
STEP = 1.02
"""Rates are on a grid of such steps, so that several rounds share one."""
SPREAD, SPREAD_OF_MEAN = 0.7, 0.2
"""Rates are measured on both sides of the limit where the share of late requests, or the mean, is
expected to be so many e-folds from what is allowed: further out a round says less of the limit,
nearer less of the slope."""
CLIFF = 20.0
"""At the lowest rate that misses the target so many times as many requests are late as are allowed:
between it and the next lower rate the curve is no straight line."""
DIGITS = 4
"""A rate has so many, which people can read and type."""
CURVE = (0.25, 0.5, 0.75)
"""Shares of the promised rate that are measured too, so that the curve has a beginning."""
NEAR = 0.1
"""A rate is on the curve already if one was measured that is so near."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """`low_hz` is the rate that is promised, `high_hz` the lowest that is shown to break the
    target; None where the rounds show no such rate. Each is wrong in 2.5 % of searches, nominally.
    `not_offered`: rates from `high_hz` on could not be offered."""

    low_hz: float | None
    high_hz: float | None
    not_offered: bool = False

    def verdict(self, rate_hz: float) -> Verdict:
        """What the whole search says of this rate."""
        if self.low_hz is not None and rate_hz <= self.low_hz:
            return "holds"
        if self.high_hz is not None and rate_hz >= self.high_hz:
            return "not_offered" if self.not_offered else "breaks"
        return "undecided"


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the rounds of a search showed at its rates, in their order.

    `capacity_hz` is how many requests a second are served when there is always one waiting. From
    `offered_below_hz` on requests came late by themselves. `spent` counts all rounds, also those
    that showed nothing of the server.
    """

    target: Target
    capacity_hz: float
    observations: tuple[Observation, ...]
    offered_below_hz: float = math.inf
    spent: int = 0

    def estimate(self) -> Estimate | None:
        """The limit by these rounds; None without any."""
        if not self.observations:
            return None
        highest_hz = max(one.rate_hz for one in self.observations)
        most_hz = max(UP * self.capacity_hz, 2.0 * UP * highest_hz)
        least_hz = 0.5 * LEAST_SHARE * self.capacity_hz
        return estimate(self.observations, self.target, self.capacity_hz, least_hz, most_hz)

    def bracket(self) -> Bracket:
        """The answer so far."""
        found, cap_hz = self.estimate(), self.offered_below_hz
        low = high = None
        if found is not None and len(self.observations) >= LEAST_ROUNDS:
            if found.low_hz is not None and found.low_hz >= LEAST_SHARE * self.capacity_hz:
                low = rounded(min(found.low_hz, self._highest_shown_hz()), math.floor)
            high = found.high_hz and rounded(found.high_hz, math.ceil)
        if high is None or high > cap_hz:
            return Bracket(low, cap_hz if math.isfinite(cap_hz) else None, math.isfinite(cap_hz))
        return Bracket(low, high)

    def _highest_shown_hz(self) -> float:
        """The highest rate measured; below a cliff, which is steeper than any curve of a queue, the
        last rate before it."""
        rounds: dict[float, list[Seen]] = {}
        for one in self.observations:
            rounds.setdefault(one.rate_hz, []).append(one.seen)
        highest_hz = max(rounds)
        if self.target.percentile is None:
            return highest_hz
        shares = {rate_hz: late_share(own) for rate_hz, own in rounds.items()}
        missed_hz = min(
            (hz for hz, late in shares.items() if late > self.target.allowed), default=0
        )
        below_hz = max((hz for hz in shares if hz < missed_hz), default=highest_hz)
        cliff = missed_hz and shares[missed_hz] > CLIFF * self.target.allowed
        return below_hz if cliff else highest_hz


def next_rate(rounds: Rounds, most: int) -> float | None:
    """The rate of the next round; None when the search is over, after `most` rounds at the
    latest."""
    begin_hz, found = BEGIN_AT * rounds.capacity_hz, rounds.estimate()
    observations = rounds.observations
    least_hz = max(LEAST_SHARE * rounds.capacity_hz, LEAST_RATE_HZ)
    if rounds.spent >= most:
        return None
    if found is None:
        rate_hz = min(begin_hz, rounds.offered_below_hz / UP)
        return rounded(rate_hz) if least_hz <= rate_hz <= MOST_RATE_HZ else None
    if found.rounds >= LEAST_NEAR and found.width <= RESOLUTION:
        return None
    rates = [one.rate_hz for one in observations]
    spread = SPREAD_OF_MEAN if rounds.target.percentile is None else SPREAD
    reach = max(1, round(spread / found.slope / math.log(STEP)))
    place = math.log(found.best_hz / begin_hz) / math.log(STEP)
    below = sum(rate < found.best_hz for rate in rates) > len(rates) / 2.0
    wanted = math.floor(place + reach) if below else math.ceil(place - reach)
    rate_hz = min(max(begin_hz * STEP**wanted, DOWN * min(rates)), UP * max(rates))
    if rate_hz >= rounds.offered_below_hz:
        highest_hz = max(rates)
        if rounds.offered_below_hz > STEP**2 * highest_hz:
            rate_hz = math.sqrt(highest_hz * rounds.offered_below_hz)
        elif (found.low_hz or 0.0) < highest_hz and rates.count(highest_hz) < LEAST_NEAR:
            rate_hz = highest_hz
        else:
            return None
    possible_hz = rounded(min(max(rate_hz, least_hz), MOST_RATE_HZ))
    at_the_end = not least_hz <= rate_hz <= MOST_RATE_HZ
    return None if at_the_end and rates.count(possible_hz) >= FIRST_LOOK else possible_hz


def curve_rates(promised_hz: float, measured: Iterable[float]) -> Iterator[float]:
    """For each part of the promised rate the nearest that was measured, or itself where none is
    near."""
    known = tuple(measured)
    for part in CURVE:
        rate = rounded(part * promised_hz)
        near = [other for other in known if abs(other / rate - 1.0) <= NEAR]
        yield min(near, key=lambda other: abs(other / rate - 1.0), default=rate)


def knee(curve: Iterable[tuple[float, float]]) -> float | None:
    """Of rates with their latencies the rate of the greatest rate per latency, a queue's power
    (L. Kleinrock, ICC 1979): beyond it waiting grows faster than what is served."""
    return max(curve, key=lambda point: point[0] / point[1], default=(None, 0.0))[0]


def rounded(rate_hz: float, to: Callable[[float], int] = round) -> float:
    """To `DIGITS` digits, the same wherever it is computed; `to` a whole number of the last."""
    digits = DIGITS - 1 - math.floor(math.log10(rate_hz))
    return float(f"{to(rate_hz * 10.0**digits) / 10.0**digits:.{DIGITS}g}")
