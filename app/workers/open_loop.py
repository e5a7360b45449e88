"""A measured round of an open loop: its request schedule drawn beforehand, served by all lanes."""

from __future__ import annotations

import math
import os
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from app.cases.round import MEASURED, WARMUP, Limits, OpenLoop, Progress, latency_ns
from app.cases.scenario import Batcher, Scenario
from app.stats.open_loop import (
    arrivals_ns,
    batched_utilisation,
    schedule_sha256,
    settling_s,
    utilisation,
)
from app.stats.quantiles import Histogram
from app.workers.lanes import counted_records, rewarming
from app.workers.loop import SWITCH_S, Arriving, Block, clock_ns, enter, sets_fed
from app.workers.sampling import MeasurementResult, running
from app.workers.system_counters import Watch
from app.workers.timing import Serve
from runtimes.base import Lane
from runtimes.errors import Unsupported
from runtimes.execution import Samples

MAXIMUM_ARRIVALS = 1 << 22
"""A round draws no more: at rates from a million a second on it is shorter, and fits in memory."""
_WARM_SHARE, _WARM_COUNT = 0.1, 20
"""So much beyond the least number of samples, since first runs do not count."""
_START_SEED = 1 << 63
"""Beyond all seeds of 63 bits: the start has gaps of its own."""


@dataclass(frozen=True, slots=True)
class RoundSchedule:
    """Requests at `offsets_ns` [n] of a round that is `seconds` long, `rate_hz` on average.

    A `batcher` sends several of them together. The first `start_requests`, of `start_s`, bring the
    queue into its steady state and are not counted. Each lane is fed so many `sets` in turn.
    """

    offsets_ns: np.ndarray
    seconds: float
    rate_hz: float
    batcher: Batcher | None = None
    start_requests: int = 0
    start_s: float = 0.0
    sets: int = 1

    @property
    def counted_from_ns(self) -> int:
        """When the first request that is counted is due."""
        return int(self.offsets_ns[self.start_requests])

    @property
    def sha256(self) -> str:
        """Names the requests that are counted, by their times from the end of the start."""
        return schedule_sha256(self.offsets_ns[self.start_requests :] - round(self.start_s * 1e9))

    @property
    def patience_s(self) -> float:
        """What waits when the schedule is over is still served for so long, if lanes keep up."""
        return self.seconds + (self.batcher.wait_us * 1e-6 if self.batcher else 0.0)

    def outcome(self, served_runs: Samples, lanes: int, start_ns: int = 0) -> OpenLoop:
        """What became of its requests: the runs that were served, by so many lanes."""
        seconds = float(served_runs.finished_ns.max(initial=start_ns) - start_ns) * 1e-9
        return OpenLoop(
            schedule_sha256=self.sha256,
            due=len(self.offsets_ns),
            left=len(self.offsets_ns) - len(served_runs.finished_ns),
            seconds=max(seconds, self.seconds),
            utilisation=self.utilisation(served_runs, lanes),
            start_requests=self.start_requests,
            start_s=self.start_s,
        )

    def utilisation(self, served_runs: Samples, lanes: int) -> float:
        """The share of their time that so many lanes need for requests at this rate."""
        if self.batcher is not None:
            return batched_utilisation(served_runs, self.batcher, self.rate_hz)
        return utilisation(served_runs, self.rate_hz, lanes)


def schedule_s(scenario: Scenario, limits: Limits) -> float:
    """How long the counted part of a round is: for `min_s` and `min_samples`, at most `max_s`."""
    rate_hz = scenario.arrivals_hz
    minimum_s = (limits.min_samples * (1 + _WARM_SHARE) + _WARM_COUNT) / rate_hz
    return min(max(limits.min_s, minimum_s), limits.max_s, MAXIMUM_ARRIVALS / rate_hz)


def timed_schedule(
    scenario: Scenario,
    limits: Limits,
    seed: int,
    batcher: Batcher | None = None,
    capacity_hz: float = 0.0,
) -> RoundSchedule:
    """The requests of a timed round; Unsupported where none comes in its time.

    `capacity_hz` is how many requests a second are served when there is always one waiting, 0 where
    it is unknown. Whatever it is, the requests that are counted are the same.
    """
    seconds = schedule_s(scenario, limits)
    offsets_ns = arrivals_ns(scenario, seconds, seed)
    if not len(offsets_ns):
        raise Unsupported(
            f"{scenario} brought no request within the {seconds:g} s of a round",
            "use a higher rate, or a longer --preset",
        )
    schedule = RoundSchedule(offsets_ns, seconds, scenario.arrivals_hz, batcher)
    return _with_start(schedule, scenario, capacity_hz, seed)


def simulated_schedule(
    scenario: Scenario, count: int, seed: int, capacity_hz: float = 0.0
) -> RoundSchedule:
    """As many requests as a simulated round has runs, after its start."""
    rate_hz = scenario.arrivals_hz
    minimum_s = (count + 8 * math.sqrt(count) + max(scenario.count, 16)) / rate_hz
    offsets_ns = arrivals_ns(scenario, minimum_s, seed)[:count]
    schedule = RoundSchedule(offsets_ns, float(offsets_ns[-1]) * 1e-9, rate_hz)
    return _with_start(schedule, scenario, capacity_hz, seed)


def _with_start(
    schedule: RoundSchedule, scenario: Scenario, capacity_hz: float, seed: int
) -> RoundSchedule:
    """The same after the start that its queue takes, at most as long as what is counted."""
    rate_hz = scenario.arrivals_hz
    settling_time_s = settling_s(rate_hz, capacity_hz, is_random=scenario.form.due == "at random")
    maximum_s = min(schedule.seconds, MAXIMUM_ARRIVALS / rate_hz - schedule.seconds)
    # Whole gaps, so that even requests stay even.
    gap_s = max(scenario.count, 1) / rate_hz
    start_s = math.floor(min(settling_time_s, maximum_s) / gap_s) * gap_s
    if start_s <= 0.0:
        return schedule
    start_ns = arrivals_ns(scenario, start_s, seed + _START_SEED)
    return replace(
        schedule,
        offsets_ns=np.concatenate([start_ns, round(start_s * 1e9) + schedule.offsets_ns]),
        seconds=start_s + schedule.seconds,
        start_requests=len(start_ns),
        start_s=start_s,
    )


LOOK_S = 0.2
"""So often what the lanes wrote is kept, and told."""
LEAD_NS = 5_000_000
"""So long after all lanes are ready the schedule begins."""
FOREVER = 2**63 - 1


class _LaneRecorder:
    """What one lane has served so far, and how much of it is kept.

    Its first `warming` runs are not counted, nor those due before `counted_from_ns`.
    """

    def __init__(self, number: int, room: int, warming: int, is_single: bool, sets: int) -> None:
        self._sets = sets
        self._number, self._warming, self._taken_count, self._served_count = number, warming, 0, 0
        self.counted_from_ns = 0
        # Any of several lanes may serve all requests, and together they serve each once.
        self.block = Block(room, as_written=not is_single)

    @property
    def served(self) -> int:
        """How many runs are complete; 0 stands in `finished` from there on."""
        return bisect_left(self.block.finished, True, self._taken_count, key=lambda ns: ns == 0)

    @property
    def known_until_ns(self) -> int:
        """No run of this lane that is not complete yet began before."""
        served_count = self.served
        return self.block.finished[served_count - 1] if served_count else 0

    def newly_served(self) -> np.ndarray:
        """When the runs were due that were completed since this was last asked."""
        first, self._served_count = self._served_count, self.served
        return np.array(self.block.scheduled[first : self._served_count], np.int64)

    def complete(self) -> np.ndarray:
        """Records of all complete runs [n]."""
        return self._records(0, self.served)

    def take(self, until_ns: int) -> np.ndarray:
        """Records of complete runs that began before `until_ns`, those that were taken left out."""
        first = self._taken_count
        end = bisect_left(self.block.started, until_ns, first, self.served)
        self._taken_count = end
        return self._records(first, end)

    def _records(self, first: int, end: int) -> np.ndarray:
        records = self.block.records(end, MEASURED, first)
        records["phase"][: max(self._warming - first, 0)] = WARMUP
        records["phase"][records["scheduled_ns"] < self.counted_from_ns] = WARMUP
        records["lane"] = self._number
        records["set"] = sets_fed(first, end - first, self._sets)
        return records


class OpenLoopSampler:
    """Serves a schedule by all lanes at once and appends what they timed to `file`.

    Of each lane the first runs, from 1 to `REWARM`, do not count: there was a pause before them.
    Nor does the schedule's start, in which the queue comes into its steady state.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        serves: Sequence[Serve],
        schedule: RoundSchedule,
        file: BinaryIO,
        watch: Watch,
        report: Callable[[Progress], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        count = len(schedule.offsets_ns)
        warming = rewarming(count // len(lanes))
        self._lanes, self._serves, self._schedule = lanes, serves, schedule
        is_single = len(lanes) == 1
        self._recorders = [
            _LaneRecorder(number, count, warming, is_single, schedule.sets)
            for number in range(len(lanes))
        ]
        self._first_open, self._served_later = 0, np.empty(0, np.int64)
        self._file, self._watch, self._report, self._is_stopped = file, watch, report, is_stopped
        self._arriving = Arriving(schedule.offsets_ns)
        self._ready = threading.Barrier(len(lanes) + 1, self._begin)
        self._failures: list[Exception] = []
        self._first_run_lock = threading.Lock()
        self._histogram, self._iterations = Histogram(), 0
        self._start_ns = self._ends_ns = 0

    def measure(self) -> MeasurementResult:
        """Serve until all is answered, or until the schedule is over if they can't keep up.

        Where they can, what is still waiting then has as long as the schedule was. Raises what a
        run raises.
        """
        threads = [
            threading.Thread(target=self._serve, args=(number,), daemon=True)
            for number in range(len(self._lanes))
        ]
        has_stopped = False
        with _switching_often():
            try:
                for thread in threads:
                    thread.start()
                with _on_spare_cores(), suppress(threading.BrokenBarrierError):
                    self._ready.wait()
                    has_stopped = self._follow(threads)
            finally:
                self._arriving.end()
                self._ready.abort()
                for thread in threads:
                    if thread.ident is not None:
                        thread.join()
        if self._failures:
            raise self._failures[0]
        return self._build_result(has_stopped)

    def _begin(self) -> None:
        length_ns = round(self._schedule.seconds * 1e9)
        self._start_ns = clock_ns() + LEAD_NS
        self._ends_ns = self._start_ns + length_ns
        for recorder in self._recorders:
            recorder.counted_from_ns = self._start_ns + self._schedule.counted_from_ns
        patience_ns = round(self._schedule.patience_s * 1e9)
        self._arriving.begin(self._start_ns, self._ends_ns + patience_ns)

    def _serve(self, number: int) -> None:
        """What a lane's thread does."""
        try:
            enter(self._lanes[number], self._first_run_lock)
            self._ready.wait()
            self._serves[number](self._recorders[number].block, self._arriving)
        except threading.BrokenBarrierError:
            pass
        except Exception as error:
            self._failures.append(error)
            self._arriving.end()
            self._ready.abort()

    def _follow(self, threads: Sequence[threading.Thread]) -> bool:
        """Keep what is served until all lanes are through; whether that was asked for."""
        has_stopped, is_judged = False, False
        self._watch.begin()
        while True:
            _join(threads, LOOK_S if is_judged else min(LOOK_S, self._left_s()))
            alive = [thread.is_alive() for thread in threads]
            self._keep(alive)
            if not any(alive):
                return has_stopped
            if not has_stopped and self._is_stopped():
                has_stopped = True
                self._arriving.end()
            elif not is_judged and self._left_s() <= 0:
                is_judged = True
                if self._schedule.utilisation(self._served_samples(), len(threads)) >= 1.0:
                    self._arriving.end()

    def _left_s(self) -> float:
        """How long the schedule goes on."""
        return (self._ends_ns - clock_ns()) * 1e-9

    def _keep(self, alive: Sequence[bool]) -> None:
        """Append what is complete, in the order of its start, and tell of it."""
        lanes = zip(self._recorders, alive, strict=True)
        until_ns = min((lane.known_until_ns for lane, goes_on in lanes if goes_on), default=FOREVER)
        until_ns = max(until_ns, self._first_open_ns())
        records = np.concatenate([lane.take(until_ns) for lane in self._recorders])
        if not len(records):
            return
        records = records[np.argsort(records["started_ns"], kind="stable")]
        self._watch.end(records)
        self._watch.begin()
        self._file.write(records.tobytes())
        latency = latency_ns(counted_records(records), from_schedule=True)
        self._iterations += len(latency)
        self._histogram.add(latency)
        elapsed_s = (clock_ns() - self._start_ns) * 1e-9
        self._report(Progress("measure", self._iterations, elapsed_s, *running(self._histogram)))

    def _first_open_ns(self) -> int:
        """When the first request was due that has no answer yet: no run that goes on began before.

        A lane that never had a request so keeps nobody's records back.
        """
        served_times_ns = [self._served_later, *(lane.newly_served() for lane in self._recorders)]
        served_ns = np.sort(np.concatenate(served_times_ns))
        due_ns = self._arriving.times_ns[self._first_open :]
        gaps = np.flatnonzero(served_ns != due_ns[: len(served_ns)])
        in_row = int(gaps[0]) if len(gaps) else len(served_ns)
        self._first_open, self._served_later = self._first_open + in_row, served_ns[in_row:]
        return int(due_ns[in_row]) if in_row < len(due_ns) else FOREVER

    def _served_samples(self) -> Samples:
        """All that is complete so far, one lane's after another's."""
        records = np.concatenate([lane.complete() for lane in self._recorders])
        return Samples(
            records["scheduled_ns"],
            records["started_ns"],
            records["finished_ns"],
            "wall",
            from_schedule=True,
            lanes=records["lane"],
        )

    def _build_result(self, stopped: bool) -> MeasurementResult:
        outcome = self._schedule.outcome(self._served_samples(), len(self._lanes), self._start_ns)
        stop_reason = "stopped" if stopped else "overload" if outcome.overloaded else "schedule"
        return MeasurementResult(self._iterations, outcome.seconds, stop_reason, outcome)


def _join(threads: Sequence[threading.Thread], seconds: float) -> None:
    """Wait until all have ended, at most so long."""
    until_ns = clock_ns() + round(seconds * 1e9)
    for thread in threads:
        thread.join(max(until_ns - clock_ns(), 0) * 1e-9)


@contextmanager
def _switching_often() -> Iterator[None]:
    """Threads that want the interpreter do not wait long for the one that has it."""
    previous_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(previous_s)


@contextmanager
def _on_spare_cores() -> Iterator[None]:
    """This thread on those of its parent's cores that the lanes do not have, if there are any."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    lanes = os.sched_getaffinity(0)
    with suppress(OSError):
        os.sched_setaffinity(0, os.sched_getaffinity(os.getppid()) - lanes)
    try:
        yield
    finally:
        os.sched_setaffinity(0, lanes)
