"""The search for the highest rate that keeps a target: the next rate, and its progress.

Pure functions of the rounds so far, so that a resumed search continues where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

import numpy as np

from app.analysis.columns.load import LATE_SHARE
from app.cases.case import Case
from app.cases.objectives import MINIMUM_ROUNDS, Target
from app.cases.round import RoundResult
from app.cases.scenario import MAXIMUM_RATE_HZ, MINIMUM_RATE_HZ, Batcher, Scenario
from app.cases.status import FITS
from app.run_folder.run import Run
from app.stats.capacity import (
    FIRST_LOOK,
    Estimate,
    Judgement,
    Observation,
    RateRound,
    dispersion,
    estimate,
    judge_rate,
    late_share,
    summarise_round,
)
from app.stats.open_loop import lateness_ns

Verdict = Judgement | Literal["not_offered", "failed"]
"""`not_offered`: requests came late by themselves. `failed`: a round ended without figures."""

ROUNDS_A_SEARCH = 5
"""A search has so many times `--rounds` at all its rates together."""
BEGIN_AT = 0.7
"""Of the service rate, where the search begins."""
UP, DOWN = 2.0**0.5, 0.5
"""A rate is at most so many times the highest that was measured, and at least of the lowest."""
MINIMUM_SHARE = 0.02
"""Of the service rate: at less hardly a request meets another, and no target is missed for the
load."""
RESOLUTION = 0.05
"""The search ends when the bracket is at most so wide, as a share of its lower end."""
MINIMUM_NEAR = 10
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
NEARNESS = 0.1
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
        highest_hz = max(observation.rate_hz for observation in self.observations)
        most_hz = max(UP * self.capacity_hz, 2.0 * UP * highest_hz)
        least_hz = 0.5 * MINIMUM_SHARE * self.capacity_hz
        return estimate(self.observations, self.target, self.capacity_hz, least_hz, most_hz)

    def bracket(self) -> Bracket:
        """The answer so far."""
        limit, cap_hz = self.estimate(), self.offered_below_hz
        low = high = None
        if limit is not None and len(self.observations) >= MINIMUM_ROUNDS:
            if limit.low_hz is not None and limit.low_hz >= MINIMUM_SHARE * self.capacity_hz:
                low = round_rate(min(limit.low_hz, self._highest_shown_hz()), math.floor)
            high = limit.high_hz and round_rate(limit.high_hz, math.ceil)
        if high is None or high > cap_hz:
            return Bracket(low, cap_hz if math.isfinite(cap_hz) else None, math.isfinite(cap_hz))
        return Bracket(low, high)

    def _highest_shown_hz(self) -> float:
        """The highest rate measured; below a cliff, which is steeper than any curve of a queue, the
        last rate before it."""
        rounds: dict[float, list[RateRound]] = {}
        for observation in self.observations:
            rounds.setdefault(observation.rate_hz, []).append(observation.rate_round)
        highest_hz = max(rounds)
        if self.target.percentile is None:
            return highest_hz
        shares = {rate_hz: late_share(rate_rounds) for rate_hz, rate_rounds in rounds.items()}
        missed_hz = min(
            (hz for hz, late in shares.items() if late > self.target.allowed), default=0
        )
        below_hz = max((hz for hz in shares if hz < missed_hz), default=highest_hz)
        cliff = missed_hz and shares[missed_hz] > CLIFF * self.target.allowed
        return below_hz if cliff else highest_hz


def next_rate(rounds: Rounds, maximum: int) -> float | None:
    """The rate of the next round; None when the search is over, after `most` rounds at the
    latest."""
    begin_hz, limit = BEGIN_AT * rounds.capacity_hz, rounds.estimate()
    observations = rounds.observations
    least_hz = max(MINIMUM_SHARE * rounds.capacity_hz, MINIMUM_RATE_HZ)
    if rounds.spent >= maximum:
        return None
    if limit is None:
        rate_hz = min(begin_hz, rounds.offered_below_hz / UP)
        return round_rate(rate_hz) if least_hz <= rate_hz <= MAXIMUM_RATE_HZ else None
    if limit.rounds >= MINIMUM_NEAR and limit.width <= RESOLUTION:
        return None
    rates = [observation.rate_hz for observation in observations]
    spread = SPREAD_OF_MEAN if rounds.target.percentile is None else SPREAD
    reach = max(1, round(spread / limit.slope / math.log(STEP)))
    place = math.log(limit.best_hz / begin_hz) / math.log(STEP)
    is_below = sum(rate < limit.best_hz for rate in rates) > len(rates) / 2.0
    step_count = math.floor(place + reach) if is_below else math.ceil(place - reach)
    rate_hz = min(max(begin_hz * STEP**step_count, DOWN * min(rates)), UP * max(rates))
    if rate_hz >= rounds.offered_below_hz:
        highest_hz = max(rates)
        if rounds.offered_below_hz > STEP**2 * highest_hz:
            rate_hz = math.sqrt(highest_hz * rounds.offered_below_hz)
        elif (limit.low_hz or 0.0) < highest_hz and rates.count(highest_hz) < MINIMUM_NEAR:
            rate_hz = highest_hz
        else:
            return None
    possible_hz = round_rate(min(max(rate_hz, least_hz), MAXIMUM_RATE_HZ))
    at_the_end = not least_hz <= rate_hz <= MAXIMUM_RATE_HZ
    return None if at_the_end and rates.count(possible_hz) >= FIRST_LOOK else possible_hz


def curve_rates(promised_hz: float, measured_hz: Iterable[float]) -> Iterator[float]:
    """For each part of the promised rate the nearest that was measured, or itself where none is
    near."""
    rates = tuple(measured_hz)
    for part in CURVE:
        rate = round_rate(part * promised_hz)
        neighbours = [candidate for candidate in rates if abs(candidate / rate - 1.0) <= NEARNESS]
        yield min(neighbours, key=lambda candidate: abs(candidate / rate - 1.0), default=rate)


def round_rate(rate_hz: float, rounding: Callable[[float], int] = round) -> float:
    """To `DIGITS` digits, the same wherever it is computed; `rounding` a whole number of the
    last."""
    digits = DIGITS - 1 - math.floor(math.log10(rate_hz))
    return float(f"{rounding(rate_hz * 10.0**digits) / 10.0**digits:.{DIGITS}g}")


NOT_OFFERED = 2
"""So many rounds of a rate that came late by themselves end the search above it."""


@dataclass(frozen=True, slots=True)
class Point:
    """What was seen of a case at one rate; without one it is that of the closed loop, unloaded.

    `verdict` is what the whole search says of it, None where it has no rounds yet. `number` is its
    next round. `reason` is that of a round which failed.
    """

    case: Case
    rate_hz: float | None
    rounds: tuple[RateRound, ...]
    number: int
    verdict: Verdict | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SearchState:
    """A search so far: the unloaded point, and the others by rising rate.

    `service_hz` is how many requests a second are served when there is always one waiting, `lanes`
    how many at once. `following` is what is to be measured next, None once it is over;
    `curve_only` that it is for the curve and the answer is final.
    """

    base: Case
    unloaded: Point
    service_hz: float
    lanes: int
    points: tuple[Point, ...]
    bracket: Bracket
    following: Point | None
    curve_only: bool = False

    @property
    def is_over(self) -> bool:
        """Whether the answer is final."""
        return self.following is None or self.curve_only

    @property
    def measured(self) -> tuple[Point, ...]:
        """All that were measured, the unloaded one first."""
        return ((self.unloaded,) if self.unloaded.rounds else ()) + self.points


@dataclass(slots=True)
class RateSearch:
    """One subject: `base` is its case in the closed loop, `most` are `--rounds`.

    Its rates are those of requests that a `batcher` collects, if there is one. The samples of a
    round are read once.
    """

    base: Case
    target: Target
    maximum_rounds: int
    batcher: Batcher | None = None
    _rate_rounds: dict[tuple[str, int], RateRound] = field(default_factory=dict)
    _service_ns: dict[int, float] = field(default_factory=dict)

    @property
    def subject(self) -> Case:
        """What is searched: `base` with the batcher, which tells it from other searches of it."""
        return replace(self.base, batcher=self.batcher)

    def case_at(self, rate_hz: float) -> Case:
        return replace(self.subject, scenario=Scenario("poisson", rate_hz=rate_hz))

    def of(self, run: Run) -> SearchState:
        """How far the run has come with it."""
        closed_rounds = _counted_rounds(run, self.base)
        unloaded_point = self._unloaded_point(run, closed_rounds)
        lanes, service_hz = self._service(run, closed_rounds)
        if unloaded_point.verdict is None:
            return SearchState(
                self.base,
                unloaded_point,
                service_hz,
                lanes,
                (),
                Bracket(None, None),
                unloaded_point,
            )
        impossible = unloaded_point.verdict == "failed" or (
            lanes == 1 and unloaded_point.verdict == "breaks"
        )
        rounds_by_rate = {} if impossible else self._group_by_rate(run)
        rounds = self._rounds(run, rounds_by_rate, service_hz)
        answer = rounds.bracket()
        points = tuple(
            self._point(run, rate_hz, rounds_by_rate[rate_hz], service_hz, answer)
            for rate_hz in sorted(rounds_by_rate)
        )
        following, curve_only = None, False
        if not impossible and all(point.verdict != "failed" for point in points):
            following, curve_only = self._following(rounds, rounds_by_rate, answer)
        return SearchState(
            self.base, unloaded_point, service_hz, lanes, points, answer, following, curve_only
        )

    def _group_by_rate(self, run: Run) -> dict[float, list[RoundResult]]:
        """The rounds of each rate that was measured, whatever chose it."""
        subject = self.subject
        return {
            case.scenario.rate_hz: rounds
            for case in run.tried
            if case.scenario.kind == "poisson"
            and replace(case, scenario=subject.scenario) == subject
            and (rounds := _counted_rounds(run, case))
        }

    def _rounds(
        self, run: Run, rounds_by_rate: dict[float, list[RoundResult]], service_hz: float
    ) -> Rounds:
        """What the curve is estimated from: all rounds but those that came late by themselves, at
        rates below the lowest at which most did. Of such a rate only rounds of quiet moments are
        left, which would promise more than the machine showed."""
        observations: list[Observation] = []
        round_count, offered_below_hz = 0, math.inf
        for rate_hz in sorted(rounds_by_rate):
            late = 0
            for result in rounds_by_rate[rate_hz]:
                round_count += 1
                if _is_failed(result):
                    continue
                rate_round = self._rate_round(run, result, service_hz)
                if _is_generator_late(rate_round, self.target):
                    late += 1
                else:
                    observations.append(Observation(rate_hz, rate_round))
            if late >= NOT_OFFERED and 2 * late > len(rounds_by_rate[rate_hz]):
                offered_below_hz = min(offered_below_hz, rate_hz)
        usable = tuple(item for item in observations if item.rate_hz < offered_below_hz)
        return Rounds(self.target, service_hz, usable, offered_below_hz, round_count)

    def _following(
        self, rounds: Rounds, rounds_by_rate: dict[float, list[RoundResult]], answer: Bracket
    ) -> tuple[Point | None, bool]:
        """The point of the next round, and whether it is for the curve only."""
        rate_hz = next_rate(rounds, ROUNDS_A_SEARCH * self.maximum_rounds)
        if rate_hz is not None:
            return self._next_point(rate_hz, rounds_by_rate), False
        if answer.low_hz is not None:
            for rate_hz in curve_rates(answer.low_hz, rounds_by_rate):
                if len(rounds_by_rate.get(rate_hz, ())) < min(MINIMUM_ROUNDS, self.maximum_rounds):
                    return self._next_point(rate_hz, rounds_by_rate), True
        return None, False

    def _next_point(self, rate_hz: float, rounds_by_rate: dict[float, list[RoundResult]]) -> Point:
        number = _next_number(rounds_by_rate.get(rate_hz, ()))
        return Point(self.case_at(rate_hz), rate_hz, (), number, None)

    def _unloaded_point(self, run: Run, rounds: Sequence[RoundResult]) -> Point:
        number, failed = _next_number(rounds), _failed_round(rounds)
        if failed is not None:
            return Point(self.base, None, (), number, "failed", failed.reason)
        rate_rounds = tuple(self._rate_round(run, result, 0.0) for result in rounds)
        verdict = judge_rate(rate_rounds, self.target, min(FIRST_LOOK, self.maximum_rounds))
        return Point(self.base, None, rate_rounds, number, verdict)

    def _point(
        self,
        run: Run,
        rate_hz: float,
        rounds: Sequence[RoundResult],
        service_hz: float,
        answer: Bracket,
    ) -> Point:
        case, number = self.case_at(rate_hz), _next_number(rounds)
        failure = _failed_round(rounds)
        if failure is not None:
            return Point(case, rate_hz, (), number, "failed", failure.reason)
        rate_rounds = tuple(self._rate_round(run, result, service_hz) for result in rounds)
        return Point(case, rate_hz, rate_rounds, number, answer.verdict(rate_hz))

    def _rate_round(self, run: Run, result: RoundResult, service_hz: float) -> RateRound:
        """What one round showed; where requests come faster than they are answered all are late.

        In a closed loop no request waits for another: `service_hz` is 0.
        """
        key = result.case_id, result.round
        if key not in self._rate_rounds:
            samples = run.samples_of(result)
            in_turn = np.argsort(samples.scheduled_ns, kind="stable")
            load = result.open_loop
            begun_ns = samples.started_ns if load is None else samples.scheduled_ns
            latencies_us = (samples.finished_ns - begun_ns)[in_turn] / 1e3
            busy = 0.0 if load is None else load.utilisation
            variance_ratio = dispersion(self.target, service_hz, busy)
            late_us = None if load is None else lateness_ns(samples, self.batcher) / 1e3
            self._rate_rounds[key] = summarise_round(
                latencies_us, self.target, variance_ratio, late_us
            )
        rate_round = self._rate_rounds[key]
        if result.open_loop is None or not result.open_loop.overloaded:
            return rate_round
        return replace(rate_round, late=rate_round.requests, independent=float(rate_round.requests))

    def _service(self, run: Run, rounds: Sequence[RoundResult]) -> tuple[int, float]:
        """How many lanes there are, and how many runs a second all of them end in a closed loop."""
        timed_rounds = [result for result in rounds if result.samples]
        if not timed_rounds:
            return 1, 0.0
        for result in timed_rounds:
            if result.round not in self._service_ns:
                mean_ns = float(run.samples_of(result).service_ns.mean())
                self._service_ns[result.round] = mean_ns
        mean_ns = fmean(self._service_ns[result.round] for result in timed_rounds)
        return timed_rounds[-1].concurrency, timed_rounds[-1].concurrency * 1e9 / mean_ns


def rate_searches(run: Run) -> list[RateSearch]:
    """A search for each case and batcher of a plan that asks for them; none of another plan."""
    plan = run.manifest.requested_plan
    target = plan.target
    if target is None:
        return []
    maximum_rounds = plan.lengths.rounds
    return [
        RateSearch(case, target, maximum_rounds, batcher)
        for case in run.manifest.cases
        for batcher in plan.searched_batchers
    ]


def _counted_rounds(run: Run, case: Case) -> list[RoundResult]:
    """The rounds of a case that are not to be done again."""
    return [result for result in run.rounds_of(case) if result.status != "cancelled"]


def _failed_round(rounds: Sequence[RoundResult]) -> RoundResult | None:
    """The first that ended without figures, or with wrong outputs."""
    return next(filter(_is_failed, rounds), None)


def _is_failed(result: RoundResult) -> bool:
    return result.status not in FITS or not result.samples


def _is_generator_late(rate_round: RateRound, target: Target) -> bool:
    """Whether the target was missed and the generator had a part in it."""
    if target.percentile is None:
        is_missed = rate_round.figure_us is not None and rate_round.figure_us > target.limit_us
    else:
        is_missed = rate_round.late > target.allowed * rate_round.requests
    return is_missed and rate_round.generator_us > LATE_SHARE * target.limit_us


def _next_number(rounds: Sequence[RoundResult]) -> int:
    """The lowest number that no round has."""
    return min(set(range(len(rounds) + 1)) - {result.round for result in rounds})
