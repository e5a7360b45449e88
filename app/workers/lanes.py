"""Lanes of a bound session, timed in blocks: one, several, queued, or of several shapes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import ClassVar, Protocol, Self

import numpy as np

from app.cases.round import FIRST_OF_SHAPE, MEASURED, WARMUP, MeasureJob, latency_ns
from app.cases.scenario import Scenario, WaitPolicy
from app.workers.loop import (
    SLEEP_MARGIN_NS,
    WAIT,
    Block,
    LaneThreads,
    clock_ns,
    give_way,
    run_block,
    sets_fed,
)
from app.workers.timing import CacheEviction, Time, Waits, timing, turn_timing
from exporters.types import Reference, axes_key, load_reference
from runtimes.base import Arrays, Lane, Session
from runtimes.calls import TimedCalls, built
from runtimes.errors import Unsupported


def reject_unqueued(job: MeasureJob, lane: Lane) -> None:
    """Unsupported where runs can't be queued, or something has to be done between two of them."""
    scenario = job.case.scenario
    if lane.enqueue is None:
        raise Unsupported(
            f"{scenario} queues runs on a device, and {job.case.runtime} waits for each run by "
            "itself with these options",
            "use tensorrt or torch-cuda, or ort-cuda with boundary=device and cuda_graph=0",
        )
    if job.model.states:
        raise Unsupported(
            f"{scenario} leaves no time between two runs, in which {job.model.name}'s state has "
            "to be fed back",
            "use closed_loop, or a model without state",
        )
    if job.model.rotation:
        raise Unsupported(
            f"{scenario} leaves no time between two runs, in which other inputs could be fed",
            "remove --rotate-inputs, or give --inputs one set",
        )


def queued_timing(lane: Lane, runs: int) -> Time:
    """What times so many runs at a time of a lane that has a queue."""
    if lane.calls and built():
        *queueing, waiting = lane.calls
        calls = TimedCalls((*queueing * runs, waiting))
        return lambda block, count: calls.time(
            block.scheduled, block.started, block.finished, count
        )
    queued_run = _queued_run(lane, runs)
    return lambda block, count: run_block(block, repeat(queued_run, count), None, 0, WAIT["spin"])


def _queued_run(lane: Lane, runs: int) -> Callable[[], object]:
    enqueue, synchronize = lane.enqueue, lane.synchronize
    assert enqueue is not None and synchronize is not None

    def run_all() -> None:
        for _ in repeat(None, runs):
            enqueue()
        synchronize()

    return run_all


BLOCK_CAPACITY = 1 << 20
REWARM = 5
"""So many runs after a pause at most are recorded as warm-up: caches were disturbed."""
LOOP_NS = 150.0
"""About what the loop itself adds to a run, beside the clock: enough to plan a block by."""


class Blocks(Protocol):
    """All lanes of one session, ready to run."""

    @property
    def run_s(self) -> float:
        """About how long a run takes, the pause before it included."""

    def block(self, seconds: float, minimum: int) -> np.ndarray:
        """Records [n] of about so many seconds, of which at least `minimum` count.

        The first runs, from 1 to `REWARM`, do not: there was a pause before them. Raises what a
        run raises.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def _spin(until_ns: int) -> None:
    while clock_ns() < until_ns:
        give_way()


def _hybrid(until_ns: int) -> None:
    WAIT["sleep"](until_ns - SLEEP_MARGIN_NS)
    _spin(until_ns)


GIVING_WAIT = {**WAIT, "spin": _spin, "hybrid": _hybrid}
"""Python's waits that leave the interpreter to other lanes: their calls need it to return."""


class TimedLane:
    """One lane with the room for a block of its runs, and how long one of them takes.

    `sets` are inputs that are fed in turn; with `streaming` its states are fed back. `pollution`
    is what goes through the caches between two runs. Several lanes beside each other give way
    while they wait.
    """

    waits: ClassVar[Waits] = GIVING_WAIT

    def __init__(
        self,
        lane: Lane,
        scenario: Scenario,
        wait_policy: WaitPolicy,
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
        pollution: CacheEviction | None = None,
    ) -> None:
        is_queued = scenario.kind == "ahead"
        self.typical_ns = max(first_ns, 1.0) * (scenario.count if is_queued else 1)
        gap_ns = round(scenario.gap_us * 1e3)
        # A gap goes on while caches are polluted.
        self._pause_ns = max(gap_ns, pollution.pass_ns if pollution else 0)
        settings = gap_ns, wait_policy, self.waits, streaming, sets, pollution
        self._time = queued_timing(lane, scenario.count) if is_queued else timing(lane, *settings)
        self._block = Block(1024)
        self._counting = self._timed_count = 0
        self._sets = len(sets)

    @property
    def run_s(self) -> float:
        """About how long a run takes, the pause before it included."""
        return (self.typical_ns + self._pause_ns + LOOP_NS) * 1e-9

    def plan(self, seconds: float, minimum: int) -> None:
        """So many runs as take so long are to count; `time` makes those before them too."""
        self._counting = min(max(int(seconds / self.run_s), minimum), BLOCK_CAPACITY)

    def time(self) -> None:
        """Run as often as was planned, with the clock around each."""
        count = self._counting + rewarming(self._counting)
        if count > self._block.capacity:
            self._block = Block(count)
        self._time(self._block, count)
        self._timed_count += count

    def records(self) -> np.ndarray:
        """The last runs as records [n]."""
        first = rewarming(self._counting)
        records = self._block.records(first + self._counting, MEASURED)
        records["phase"][:first] = WARMUP
        count = len(records)
        records["set"] = sets_fed(self._timed_count - count, count, self._sets)
        return records


class OneLane(TimedLane):
    """The one lane of a session, run by the calling thread."""

    waits = WAIT

    def block(self, seconds: float, minimum: int) -> np.ndarray:
        self.plan(seconds, minimum)
        self.time()
        records = self.records()
        self.typical_ns = float(np.median(latency_ns(counted_records(records))))
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def rewarming(counting: int) -> int:
    """How many runs warm up again before so many that count: one in twenty, from 1 to `REWARM`."""
    return min(max(counting // 20, 1), REWARM)


def counted_records(records: np.ndarray) -> np.ndarray:
    """The records that count."""
    return records[records["phase"] == MEASURED]


class SeveralLanes(LaneThreads):
    """The lanes of a session, each run by a thread of its own."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        scenario: Scenario,
        wait_policy: WaitPolicy,
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
    ) -> None:
        self._timed = [
            TimedLane(lane, scenario, wait_policy, streaming, first_ns, sets) for lane in lanes
        ]
        super().__init__(lanes)

    @property
    def run_s(self) -> float:
        return max(timed_lane.run_s for timed_lane in self._timed)

    def block(self, seconds: float, minimum: int) -> np.ndarray:
        """As `Blocks.block`; of each lane the last run may not count either."""
        for timed_lane in self._timed:
            timed_lane.plan(seconds, minimum + 1)
        self.run_all(lambda number: self._timed[number].time())
        records = [timed_lane.records() for timed_lane in self._timed]
        for timed_lane, lane_records in zip(self._timed, records, strict=True):
            timed_lane.typical_ns = float(np.mean(latency_ns(lane_records)))
        return merge_lane_records(records)


def merge_lane_records(lanes: list[np.ndarray]) -> np.ndarray:
    """One block's records by lane as one array in the order of their start.

    Those become warm-up that began before every lane had begun, or ended after one had ended.
    """
    all_started = max(records["started_ns"][0] for records in lanes)
    first_finished = min(records["finished_ns"][-1] for records in lanes)
    for number, records in enumerate(lanes):
        records["lane"] = number
        is_outside = (records["started_ns"] < all_started) | (
            records["finished_ns"] > first_finished
        )
        records["phase"][is_outside] = WARMUP
    merged_records = np.concatenate(lanes)
    return merged_records[np.argsort(merged_records["started_ns"], kind="stable")]


TURNS = 1 << 16
"""So many turns are drawn for a round, which begins anew after the last."""


def first_order(job: MeasureJob) -> tuple[int, ...]:
    """The shapes in the order in which they first run, another one in each round."""
    rng = np.random.default_rng((job.arrivals_seed, 0))
    return tuple(rng.permutation(len(job.shapes)).tolist())


def draw_turns(job: MeasureJob) -> np.ndarray:
    """Which shape comes next, int64 [TURNS], as often as the weights say."""
    assert job.case.condition.shapes is not None, "a job has shapes where its condition has"
    weights = np.array(job.case.condition.shapes.weights)
    rng = np.random.default_rng((job.arrivals_seed, 1))
    return rng.choice(len(weights), TURNS, p=weights / weights.sum()).astype(np.int64)


def turns_sha256(job: MeasureJob) -> str:
    """Names which shapes came in this round, and in which order."""
    numbers = np.concatenate([first_order(job), draw_turns(job)])
    return hashlib.sha256(np.ascontiguousarray(numbers, "<i8").tobytes()).hexdigest()


def first_axes(job: MeasureJob) -> Mapping[str, int]:
    """The sizes of the first run: the job's, or of the shape that comes first."""
    return job.shapes[first_order(job)[0]] if job.shapes else job.axes


def lanes_of(session: Session, job: MeasureJob) -> list[Lane]:
    """The lane of each of the job's shapes, of a session compiled in `first_order`."""
    lanes = dict(zip(first_order(job), session.by_shape, strict=True))
    return [lanes[number] for number in range(len(job.shapes))]


def fed(session: Session, job: MeasureJob) -> Iterator[tuple[str, Lane, Reference]]:
    """Each shape in words, with its lane and what it is fed and to give."""
    for axes, lane in zip(job.shapes, lanes_of(session, job), strict=True):
        yield axes_key(axes), lane, load_reference(job.model.references[axes_key(axes)])


class ShapeLanes:
    """The lanes of all shapes, run in the drawn turns by the calling thread."""

    def __init__(self, session: Session, job: MeasureJob, first_ns: float) -> None:
        for _, lane, reference in fed(session, job):
            lane.enter()
            lane.bind(reference.inputs)
        self._gap_ns = round(job.case.scenario.gap_us * 1e3)
        lanes = lanes_of(session, job)
        self._time = turn_timing(lanes, self._gap_ns, job.case.wait_policy, WAIT)
        self._order, self._turns = first_order(job), draw_turns(job)
        self._next, self._typical_ns = 0, max(first_ns, 1.0)
        self._block = Block(1024)

    @property
    def run_s(self) -> float:
        return (self._typical_ns + self._gap_ns + LOOP_NS) * 1e-9

    def run_each_once(self) -> np.ndarray:
        """Run each shape once, after the one whose run was the process's first; records [n - 1]."""
        return self._timed(np.array(self._order[1:], np.int64), FIRST_OF_SHAPE)

    def block(self, seconds: float, minimum: int) -> np.ndarray:
        counting = min(max(int(seconds / self.run_s), minimum), BLOCK_CAPACITY)
        first = rewarming(counting)
        places = np.arange(self._next, self._next + first + counting)
        self._next = int(places[-1] + 1) % TURNS
        records = self._timed(self._turns.take(places, mode="wrap"), MEASURED)
        records["phase"][:first] = WARMUP
        self._typical_ns = float(latency_ns(counted_records(records)).mean())
        return records

    def _timed(self, turns: np.ndarray, phase: int) -> np.ndarray:
        if len(turns) > self._block.capacity:
            self._block = Block(len(turns))
        self._time(self._block, turns)
        records = self._block.records(len(turns), phase)
        records["lane"] = turns
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...
