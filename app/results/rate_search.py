"""The search for the highest rate that keeps a target, as far as it has come.

What was seen at each rate, what is measured next, how it ended: functions of a run's rounds, for
who measures the next one and for all who show them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from app.cases.batcher import Batcher
from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.scenario import Scenario
from app.cases.status import FITS
from app.cases.target import LEAST_ROUNDS, Target
from app.results.load import LATE_SHARE
from app.results.run import Run
from app.stats.capacity import (
    ROUNDS_A_SEARCH,
    Bracket,
    Rounds,
    Verdict,
    curve_rates,
    next_rate,
)
from app.stats.judging import FIRST_LOOK, Seen, dispersion, judged, seen
from app.stats.load import lateness_ns
from app.stats.rate_fit import Observation

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
    rounds: tuple[Seen, ...]
    number: int
    verdict: Verdict | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
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
    def over(self) -> bool:
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
    most: int
    batcher: Batcher | None = None
    _seen: dict[tuple[str, int], Seen] = field(default_factory=dict)
    _service_ns: dict[int, float] = field(default_factory=dict)

    @property
    def subject(self) -> Case:
        """What is searched: `base` with the batcher, which tells it from other searches of it."""
        return replace(self.base, batcher=self.batcher)

    def case_at(self, rate_hz: float) -> Case:
        return replace(self.subject, scenario=Scenario("poisson", rate_hz=rate_hz))

    def of(self, run: Run) -> Searched:
        """How far the run has come with it."""
        closed = _counted(run, self.base)
        unloaded = self._unloaded(run, closed)
        lanes, service_hz = self._service(run, closed)
        if unloaded.verdict is None:
            return Searched(
                self.base, unloaded, service_hz, lanes, (), Bracket(None, None), unloaded
            )
        impossible = unloaded.verdict == "failed" or (lanes == 1 and unloaded.verdict == "breaks")
        recorded = {} if impossible else self._recorded(run)
        rounds = self._rounds(run, recorded, service_hz)
        answer = rounds.bracket()
        points = tuple(
            self._point(run, rate_hz, recorded[rate_hz], service_hz, answer)
            for rate_hz in sorted(recorded)
        )
        following, curve_only = None, False
        if not impossible and all(point.verdict != "failed" for point in points):
            following, curve_only = self._following(rounds, recorded, answer)
        return Searched(
            self.base, unloaded, service_hz, lanes, points, answer, following, curve_only
        )

    def _recorded(self, run: Run) -> dict[float, list[RoundResult]]:
        """The rounds of each rate that was measured, whatever chose it."""
        subject = self.subject
        return {
            case.scenario.rate_hz: rounds
            for case in run.tried
            if case.scenario.kind == "poisson"
            and replace(case, scenario=subject.scenario) == subject
            and (rounds := _counted(run, case))
        }

    def _rounds(
        self, run: Run, recorded: dict[float, list[RoundResult]], service_hz: float
    ) -> Rounds:
        """What the curve is estimated from: all rounds but those that came late by themselves."""
        observations: list[Observation] = []
        spent, offered_below_hz = 0, math.inf
        for rate_hz in sorted(recorded):
            late = 0
            for result in recorded[rate_hz]:
                spent += 1
                if _is_failed(result):
                    continue
                known = self._seen_in(run, result, service_hz)
                if _came_late(known, self.target):
                    late += 1
                else:
                    observations.append(Observation(rate_hz, known))
            if late >= NOT_OFFERED and 2 * late > len(recorded[rate_hz]):
                offered_below_hz = min(offered_below_hz, rate_hz)
        return Rounds(self.target, service_hz, tuple(observations), offered_below_hz, spent)

    def _following(
        self, rounds: Rounds, recorded: dict[float, list[RoundResult]], answer: Bracket
    ) -> tuple[Point | None, bool]:
        """The point of the next round, and whether it is for the curve only."""
        rate_hz = next_rate(rounds, ROUNDS_A_SEARCH * self.most)
        if rate_hz is not None:
            return self._next_point(rate_hz, recorded), False
        if answer.low_hz is not None:
            for rate_hz in curve_rates(answer.low_hz, recorded):
                if len(recorded.get(rate_hz, ())) < min(LEAST_ROUNDS, self.most):
                    return self._next_point(rate_hz, recorded), True
        return None, False

    def _next_point(self, rate_hz: float, recorded: dict[float, list[RoundResult]]) -> Point:
        number = _next_number(recorded.get(rate_hz, ()))
        return Point(self.case_at(rate_hz), rate_hz, (), number, None)

    def _unloaded(self, run: Run, rounds: Sequence[RoundResult]) -> Point:
        number, failed = _next_number(rounds), _failed(rounds)
        if failed is not None:
            return Point(self.base, None, (), number, "failed", failed.reason)
        known = tuple(self._seen_in(run, result, 0.0) for result in rounds)
        verdict = judged(known, self.target, min(FIRST_LOOK, self.most))
        return Point(self.base, None, known, number, verdict)

    def _point(
        self,
        run: Run,
        rate_hz: float,
        rounds: Sequence[RoundResult],
        service_hz: float,
        answer: Bracket,
    ) -> Point:
        case, number = self.case_at(rate_hz), _next_number(rounds)
        failed = _failed(rounds)
        if failed is not None:
            return Point(case, rate_hz, (), number, "failed", failed.reason)
        known = tuple(self._seen_in(run, result, service_hz) for result in rounds)
        return Point(case, rate_hz, known, number, answer.verdict(rate_hz))

    def _seen_in(self, run: Run, result: RoundResult, service_hz: float) -> Seen:
        """What one round showed; where requests come faster than they are answered all are late.

        In a closed loop no request waits for another: `service_hz` is 0.
        """
        key = result.case_id, result.round
        if key not in self._seen:
            samples = run.samples_of(result)
            in_turn = np.argsort(samples.scheduled_ns, kind="stable")
            load = result.open_loop
            begun_ns = samples.started_ns if load is None else samples.scheduled_ns
            latencies_us = (samples.finished_ns - begun_ns)[in_turn] / 1e3
            busy = 0.0 if load is None else load.utilisation
            dispersed = dispersion(self.target, service_hz, busy)
            late_us = None if load is None else lateness_ns(samples, self.batcher) / 1e3
            self._seen[key] = seen(latencies_us, self.target, dispersed, late_us)
        known = self._seen[key]
        if not _overloaded(result):
            return known
        return replace(known, late=known.requests, independent=float(known.requests))

    def _service(self, run: Run, rounds: Sequence[RoundResult]) -> tuple[int, float]:
        """How many lanes there are, and how many runs a second all of them end in a closed loop."""
        timed = [result for result in rounds if result.samples]
        if not timed:
            return 1, 0.0
        for result in timed:
            if result.round not in self._service_ns:
                mean_ns = float(run.samples_of(result).service_ns.mean())
                self._service_ns[result.round] = mean_ns
        mean_ns = fmean(self._service_ns[result.round] for result in timed)
        return timed[-1].concurrency, timed[-1].concurrency * 1e9 / mean_ns


def rate_searches(run: Run) -> list[RateSearch]:
    """A search for each case and batcher of a plan that asks for them; none of another plan."""
    asked = run.manifest.asked
    target = asked.target
    if target is None:
        return []
    most = asked.lengths.rounds
    return [
        RateSearch(case, target, most, batcher)
        for case in run.manifest.cases
        for batcher in asked.searched_batchers
    ]


def _counted(run: Run, case: Case) -> list[RoundResult]:
    """The rounds of a case that are not to be done again."""
    return [result for result in run.rounds_of(case) if result.status != "cancelled"]


def _failed(rounds: Sequence[RoundResult]) -> RoundResult | None:
    """The first that ended without figures, or with wrong outputs."""
    return next(filter(_is_failed, rounds), None)


def _is_failed(result: RoundResult) -> bool:
    return result.status not in FITS or not result.samples


def _overloaded(result: RoundResult) -> bool:
    return result.open_loop is not None and result.open_loop.overloaded


def _came_late(known: Seen, target: Target) -> bool:
    """Whether the target was missed and the generator had a part in it."""
    if target.percentile is None:
        missed = known.figure_us is not None and known.figure_us > target.limit_us
    else:
        missed = known.late > target.allowed * known.requests
    return missed and known.generator_us > LATE_SHARE * target.limit_us


def _next_number(rounds: Sequence[RoundResult]) -> int:
    """The lowest number that no round has."""
    return min(set(range(len(rounds) + 1)) - {result.round for result in rounds})
