"""The search for the highest rate that keeps a target, as far as it has come.

What was seen at each rate, what is measured next, how it ended: functions of a run's rounds, for
who measures the next one and for all who show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from app.cases.batcher import Batcher
from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.scenario import Scenario
from app.cases.status import FITS
from app.cases.target import Target
from app.results.load import LATE_SHARE
from app.results.run import Run
from app.stats.capacity import Step, Verdict, bracket, curve_rates, next_rate
from app.stats.judging import FIRST_LOOK, Seen, cluster, judged, seen
from app.stats.load import lateness_ns

CLEAR = 2
"""So many rounds of a rate that were overloaded end it."""


@dataclass(frozen=True, slots=True)
class Point:
    """What was seen of a case at one rate; without one it is that of the closed loop, unloaded.

    `verdict` is None while it takes more rounds, of which `number` is the next one. `reason` is
    that of a round which failed.
    """

    case: Case
    rate_hz: float | None
    rounds: tuple[Seen, ...]
    number: int
    verdict: Verdict | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
    """A search so far: the unloaded point, the steps in their order, the rest of the curve.

    `service_hz` is how many requests a second are served when there is always one waiting, `lanes`
    how many at once. `following` is what is to be measured next, None once it is over.
    """

    base: Case
    unloaded: Point
    service_hz: float
    lanes: int
    steps: tuple[Point, ...]
    curve: tuple[Point, ...]
    following: Point | None

    @property
    def decided(self) -> tuple[Step, ...]:
        """The steps that have a verdict."""
        return tuple(_step(point) for point in self.steps if point.verdict is not None)

    @property
    def points(self) -> tuple[Point, ...]:
        """All that were measured at a rate, the lowest rate first."""
        measured = [point for point in (*self.steps, *self.curve) if point.rounds]
        return tuple(sorted(measured, key=lambda point: point.rate_hz or 0.0))

    @property
    def measured(self) -> tuple[Point, ...]:
        """The same after what was measured unloaded."""
        return ((self.unloaded,) if self.unloaded.rounds else ()) + self.points


@dataclass(slots=True)
class RateSearch:
    """One subject: `base` is its case in the closed loop, `most` rounds a rate has at most.

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
        rounds = _counted(run, self.base)
        unloaded = self._unloaded(run, rounds)
        lanes, service_hz = self._service(run, rounds)
        if unloaded.verdict is None:
            return Searched(self.base, unloaded, service_hz, lanes, (), (), unloaded)
        steps: list[Point] = []
        curve: list[Point] = []
        following = None
        if not (unloaded.verdict == "failed" or (lanes == 1 and unloaded.verdict == "breaks")):
            for point in self._points(run, service_hz, steps, curve):
                if point.verdict is None:
                    following = point
                    break
        return Searched(
            self.base, unloaded, service_hz, lanes, tuple(steps), tuple(curve), following
        )

    def _points(
        self, run: Run, service_hz: float, steps: list[Point], curve: list[Point]
    ) -> Iterator[Point]:
        """Each point of the search and of its curve, which is added to its list."""
        done: list[Step] = []
        while (rate := next_rate(done, service_hz)) is not None:
            steps.append(self._point(run, rate, service_hz))
            yield steps[-1]
            done.append(_step(steps[-1]))
        found = bracket(done).middle_hz
        if found is None or any(step.verdict == "failed" for step in done):
            return
        for rate in curve_rates(found, done):
            curve.append(self._point(run, rate, service_hz, first_look_only=True))
            yield curve[-1]

    def _unloaded(self, run: Run, rounds: Sequence[RoundResult]) -> Point:
        number, failed = _next_number(rounds), _failed(rounds)
        if failed is not None:
            return Point(self.base, None, (), number, "failed", failed.reason)
        known = tuple(self._seen_in(run, result, 0.0) for result in rounds)
        verdict = judged(known, self.target, min(FIRST_LOOK, self.most))
        return Point(self.base, None, known, number, verdict)

    def _point(
        self, run: Run, rate_hz: float, service_hz: float, first_look_only: bool = False
    ) -> Point:
        case = self.case_at(rate_hz)
        rounds = _counted(run, case)
        number, failed = _next_number(rounds), _failed(rounds)
        if failed is not None:
            return Point(case, rate_hz, (), number, "failed", failed.reason)
        known = tuple(self._seen_in(run, result, service_hz) for result in rounds)
        verdict: Verdict | None
        if sum(map(_overloaded, rounds)) >= CLEAR:
            verdict = "breaks"
        else:
            most = min(FIRST_LOOK, self.most) if first_look_only else self.most
            verdict = judged(known, self.target, most)
            if verdict == "breaks" and _came_late(known, self.target):
                verdict = "not_offered"
        return Point(case, rate_hz, known, number, verdict)

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
            late_together = cluster(self.target, service_hz, busy)
            late_us = None if load is None else lateness_ns(samples, self.batcher) / 1e3
            self._seen[key] = seen(latencies_us, self.target, late_together, late_us)
        known = self._seen[key]
        return replace(known, late=known.requests) if _overloaded(result) else known

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
    return next((r for r in rounds if r.status not in FITS or not r.samples), None)


def _overloaded(result: RoundResult) -> bool:
    return result.open_loop is not None and result.open_loop.overloaded


def _came_late(rounds: Sequence[Seen], target: Target) -> bool:
    """Whether the generator had a part in what was missed, in most of the rounds."""
    late = sum(one.generator_us > LATE_SHARE * target.limit_us for one in rounds)
    return 2 * late > len(rounds)


def _next_number(rounds: Sequence[RoundResult]) -> int:
    """The lowest number that no round has."""
    return min(set(range(len(rounds) + 1)) - {result.round for result in rounds})


def _step(point: Point) -> Step:
    assert point.rate_hz is not None and point.verdict is not None
    return Step(point.rate_hz, point.verdict)
