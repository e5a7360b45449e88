"""The lanes of a bound session as something to time in blocks: one here, several in lanes.py.

A block is an array of `RECORD` records in the order of their start; those marked `MEASURED`
count, whatever the block was run for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np

from app.cases.case import Scenario, WaitPolicy
from app.cases.round import MEASURED, WARMUP
from app.workers.between import between_runs
from app.workers.loop import WAIT, Block, run_block
from runtimes.base import Arrays, Lane

BLOCK_CAPACITY = 1 << 20
REWARM = 5
"""Runs after each pause between blocks that are recorded as warm-up: caches were disturbed."""
_LOOP_NS = 150.0
"""About what the loop itself adds to a run, beside the clock: enough to plan a block by."""


class Blocks(Protocol):
    """All lanes of one session, ready to run."""

    def block(self, seconds: float, least: int, rewarm: bool) -> np.ndarray:
        """Records [n] of about so many seconds, but of `least` runs; raises what a run raises.

        With `rewarm` the first runs of a block of many do not count.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class TimedLane:
    """One lane with the room for a block of its runs, and how long one of them takes.

    `sets` are inputs that are fed in turn; with `streaming` its states are fed back.
    """

    def __init__(
        self,
        lane: Lane,
        scenario: Scenario,
        wait: Callable[[int], object],
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
    ) -> None:
        self.typical_ns = max(first_ns, 1.0)
        self._run, self._wait = lane.run, wait
        self._advance = between_runs(lane, streaming, sets)
        self._gap_ns = round(scenario.gap_us * 1e3)
        self._block = Block(1024)

    def count(self, seconds: float, least: int) -> int:
        """How many runs, pauses between them included, take so long."""
        wanted = int(seconds * 1e9 / (self.typical_ns + self._gap_ns + _LOOP_NS))
        return min(max(wanted, least), BLOCK_CAPACITY)

    def time(self, count: int) -> None:
        """Run so many times, with the clock around each."""
        if count > self._block.capacity:
            self._block = Block(count)
        run_block(self._block, count, self._run, self._advance, self._gap_ns, self._wait)

    def records(self, count: int, phase: int) -> np.ndarray:
        """The last runs as records [count]."""
        return self._block.records(count, phase)


class OneLane:
    """The one lane of a session, run by the calling thread."""

    def __init__(
        self,
        lane: Lane,
        scenario: Scenario,
        wait_policy: WaitPolicy,
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
    ) -> None:
        self._lane = TimedLane(lane, scenario, WAIT[wait_policy], streaming, first_ns, sets)

    def block(self, seconds: float, least: int, rewarm: bool) -> np.ndarray:
        lane, before = self._lane, []
        count = lane.count(seconds, least)
        if rewarm and many(count):
            lane.time(REWARM)
            before = [lane.records(REWARM, WARMUP)]
        lane.time(count)
        records = lane.records(count, MEASURED)
        lane.typical_ns = float(np.median(latency_ns(records)))
        return np.concatenate([*before, records])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def many(count: int) -> bool:
    """Whether a block is so long that some runs to warm up again cost little of it."""
    return count > 20 * REWARM


def counted(records: np.ndarray) -> np.ndarray:
    """The records that count."""
    return records[records["phase"] == MEASURED]


def latency_ns(records: np.ndarray) -> np.ndarray:
    """finished - started of each record [n]."""
    latency: np.ndarray = records["finished_ns"] - records["started_ns"]
    return latency
