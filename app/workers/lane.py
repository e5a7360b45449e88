"""The lanes of a bound session as something to time in blocks: one here, several in lanes.py.

A block is an array of `RECORD` records in the order of their start, of one loop; those marked
`MEASURED` count, whatever the block was run for, and its first runs never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from app.cases.round import MEASURED, WARMUP, latency_ns
from app.cases.scenario import Scenario, WaitPolicy
from app.workers.ahead import ahead_timing
from app.workers.loop import WAIT, Block
from app.workers.pollution import Pollution
from app.workers.timing import Waits, timing
from runtimes.base import Arrays, Lane

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

    def block(self, seconds: float, least: int) -> np.ndarray:
        """Records [n] of about so many seconds, of which at least `least` count.

        The first runs, from 1 to `REWARM`, do not: there was a pause before them. Raises what a
        run raises.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class TimedLane:
    """One lane with the room for a block of its runs, and how long one of them takes.

    `sets` are inputs that are fed in turn; with `streaming` its states are fed back. `pollution`
    is what goes through the caches between two runs.
    """

    def __init__(
        self,
        lane: Lane,
        scenario: Scenario,
        wait_policy: WaitPolicy,
        waits: Waits,
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
        pollution: Pollution | None = None,
    ) -> None:
        ahead = scenario.kind == "ahead"
        self.typical_ns = max(first_ns, 1.0) * (scenario.count if ahead else 1)
        gap_ns = round(scenario.gap_us * 1e3)
        # A gap goes on while caches are polluted.
        self._between_ns = max(gap_ns, pollution.pass_ns if pollution else 0)
        polluting = pollution.copies if pollution else ()
        how = gap_ns, wait_policy, waits, streaming, sets, polluting
        self._time = ahead_timing(lane, scenario.count) if ahead else timing(lane, *how)
        self._block = Block(1024)
        self._counting = 0

    @property
    def run_s(self) -> float:
        """About how long a run takes, the pause before it included."""
        return (self.typical_ns + self._between_ns + LOOP_NS) * 1e-9

    def plan(self, seconds: float, least: int) -> None:
        """So many runs as take so long are to count; `time` makes those before them too."""
        self._counting = min(max(int(seconds / self.run_s), least), BLOCK_CAPACITY)

    def time(self) -> None:
        """Run as often as was planned, with the clock around each."""
        count = self._counting + rewarming(self._counting)
        if count > self._block.capacity:
            self._block = Block(count)
        self._time(self._block, count)

    def records(self) -> np.ndarray:
        """The last runs as records [n]."""
        first = rewarming(self._counting)
        records = self._block.records(first + self._counting, MEASURED)
        records["phase"][:first] = WARMUP
        return records


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
        pollution: Pollution | None = None,
    ) -> None:
        self._lane = TimedLane(
            lane, scenario, wait_policy, WAIT, streaming, first_ns, sets, pollution
        )

    @property
    def run_s(self) -> float:
        return self._lane.run_s

    def block(self, seconds: float, least: int) -> np.ndarray:
        lane = self._lane
        lane.plan(seconds, least)
        lane.time()
        records = lane.records()
        lane.typical_ns = float(np.median(latency_ns(counted(records))))
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def rewarming(counting: int) -> int:
    """How many runs warm up again before so many that count: one in twenty, from 1 to `REWARM`."""
    return min(max(counting // 20, 1), REWARM)


def counted(records: np.ndarray) -> np.ndarray:
    """The records that count."""
    return records[records["phase"] == MEASURED]
