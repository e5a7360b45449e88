"""A round of several shapes in one session: which comes next, its first run told from the others.

Each shape has a lane, whose inputs are bound beforehand as everywhere: what is timed is what an
engine does when it gets another shape, not the copies of a request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np

from app.cases.round import FIRST_SEEN, MEASURED, WARMUP, MeasureJob, latency_ns
from app.workers.lane import BLOCK_CAPACITY, LOOP_NS, counted, rewarming
from app.workers.loop import WAIT, Block
from app.workers.timing import turn_timing
from exporters.types import Reference, axes_key, load_reference
from runtimes.base import Lane, Session

TURNS = 1 << 16
"""So many turns are drawn for a round, which begins anew after the last."""


def first_order(job: MeasureJob) -> tuple[int, ...]:
    """The shapes in the order in which they first run, another one in each round."""
    rng = np.random.default_rng((job.arrivals_seed, 0))
    return tuple(rng.permutation(len(job.shapes)).tolist())


def drawn_turns(job: MeasureJob) -> np.ndarray:
    """Which shape comes next, int64 [TURNS], as often as the weights say."""
    assert job.condition.shapes is not None, "a job has shapes where its condition has"
    weights = np.array(job.condition.shapes.weights)
    rng = np.random.default_rng((job.arrivals_seed, 1))
    return rng.choice(len(weights), TURNS, p=weights / weights.sum()).astype(np.int64)


def turns_sha256(job: MeasureJob) -> str:
    """Names which shapes came in this round, and in which order."""
    told = np.concatenate([first_order(job), drawn_turns(job)])
    return hashlib.sha256(np.ascontiguousarray(told, "<i8").tobytes()).hexdigest()


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


class InTurn:
    """The lanes of all shapes, run in the drawn turns by the calling thread."""

    def __init__(self, session: Session, job: MeasureJob, first_ns: float) -> None:
        for _, lane, reference in fed(session, job):
            lane.enter()
            lane.bind(reference.inputs)
        self._gap_ns = round(job.scenario.gap_us * 1e3)
        lanes = lanes_of(session, job)
        self._time = turn_timing(lanes, self._gap_ns, job.wait_policy, WAIT)
        self._order, self._turns = first_order(job), drawn_turns(job)
        self._next, self._typical_ns = 0, max(first_ns, 1.0)
        self._block = Block(1024)

    @property
    def run_s(self) -> float:
        return (self._typical_ns + self._gap_ns + LOOP_NS) * 1e-9

    def first_seen(self) -> np.ndarray:
        """Run each shape once, after the one whose run was the process's first; records [n - 1]."""
        return self._timed(np.array(self._order[1:], np.int64), FIRST_SEEN)

    def block(self, seconds: float, least: int) -> np.ndarray:
        counting = min(max(int(seconds / self.run_s), least), BLOCK_CAPACITY)
        first = rewarming(counting)
        places = np.arange(self._next, self._next + first + counting)
        self._next = int(places[-1] + 1) % TURNS
        records = self._timed(self._turns.take(places, mode="wrap"), MEASURED)
        records["phase"][:first] = WARMUP
        self._typical_ns = float(latency_ns(counted(records)).mean())
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
