"""Turns: the processes of a pass are alive together, and one at a time runs for some milliseconds,
so that all of them see the same states of the machine.

A token goes round. Who has it runs for 5 ms, 24 runs of a longer one but 50 ms at most, or four
runs, and hands it on between two runs. What begins in the first part of it counts as warm-up:
caches and branch predictors are still those of another process. In a cycle those have turns one
after another that are compared, in an order drawn anew, and whose turns are much longer than the
others' has one only in every so many. In a lap each group has a cycle, but for those that need
fewer, which come less often, and those that have measured enough.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np

from app.cases.round import WARMUP, Progress, latency_ns
from app.cases.turns import (
    CYCLES,
    FIRST_GROUP,
    FIRST_SEAT,
    HOLDER,
    LAP_BYTES,
    LONG_RUNS,
    LONG_TURN_S,
    OVER,
    RUNS,
    STATE,
    TURN_S,
    TurnSeat,
    TurnStart,
    token,
)
from app.stats.quantiles import Histogram
from app.workers.lanes import counted_records
from app.workers.memory_places import MemoryPlaces
from app.workers.sampling import MeasurementResult, Sampler, running

_LEAD = 0.2
"""Of what a turn is longer than half of the shortest: at its beginning runs do not count."""
_REPORT_S = 0.2


def turn_s(run_s: float) -> float:
    """How long a turn is, of runs that take so long."""
    return max(TURN_S, min(LONG_TURN_S, LONG_RUNS * run_s), RUNS * run_s)


class TurnRing:
    """One seat's view of its set; `close` gives back what it holds open.

    Each seat has a named pipe, in which the token arrives. Only the one that has it writes.
    """

    def __init__(self, seat: TurnSeat) -> None:
        self._seat, self._folder = seat, Path(seat.folder)
        # With both ends open it neither blocks nor ends.
        self._inbox = os.open(self._folder / str(seat.number), os.O_RDWR)
        with (self._folder / STATE).open("r+b") as file:
            self._state = mmap.mmap(file.fileno(), 0)
        self._outboxes: dict[int, int] = {}
        self._start = TurnStart((), (), (), (), ())
        self.every, self.seats = 1, 0
        """In every how many cycles of its group it has a turn, and how many the group has."""
        self._lap, self._following = 0, list[int]()

    def begin(self, start: TurnStart) -> None:
        """Take part with these; one that is gone neither blocks nor breaks a pipe."""
        self._start = start
        self.every = start.every[start.seats.index(self._seat.number)]
        self.seats = start.groups.count(self._seat.group)
        for number in start.seats:
            self._outboxes[number] = os.open(self._folder / str(number), os.O_RDWR)

    def await_turn(self) -> bool:
        """Wait for the token; False if the parent asks to stop first. Who had it before is halted
        if its threads could run on."""
        readable, _, _ = select.select([self._inbox, 0], [], [])
        if self._inbox not in readable:
            return False
        message = os.read(self._inbox, select.PIPE_BUF)
        self._lap, self._following = int.from_bytes(message[:LAP_BYTES]), [*message[LAP_BYTES:]]
        former = self._state[HOLDER]
        self._state[HOLDER] = self._seat.number
        if former != self._seat.number and not self.is_over:
            self._signal(former, signal.SIGSTOP)
        return True

    @property
    def is_over(self) -> bool:
        return bool(self._state[OVER])

    def count(self, turn_s: float) -> float:
        """Add the seconds of a turn to those of its group, and how many these are then."""
        place = FIRST_GROUP + 8 * self._seat.group
        (seconds,) = struct.unpack_from("d", self._state, place)
        struct.pack_into("d", self._state, place, seconds + turn_s)
        return float(seconds + turn_s)

    def note_enough(self) -> None:
        """This seat needs no more turns; it has them until no other of its group does."""
        self._state[FIRST_SEAT + self._seat.number] = 1
        if all(map(self._has_enough, self._start.seats)):
            self._state[OVER] = 1
            self._following = list(self._start.seats)

    def hand_on(self) -> None:
        """Give the token to who comes next."""
        while not self._following and not self.is_over:
            self._lap += 1
            self._following = [
                seat
                for seat in self._start.order(self._seat.set_name, self._lap)
                if not self._is_done(seat)
            ]
        if self._following:
            first, *later = self._following
            self._signal(first, signal.SIGCONT)
            os.write(self._outboxes[first], token(self._lap, later))

    def _has_enough(self, seat: int) -> bool:
        return bool(self._state[FIRST_SEAT + seat])

    def _is_done(self, seat: int) -> bool:
        """Whether all of its group have measured enough."""
        groups = dict(zip(self._start.seats, self._start.groups, strict=True))
        return all(self._has_enough(n) for n, group in groups.items() if group == groups[seat])

    def _signal(self, number: int, code: signal.Signals) -> None:
        """Halt a seat whose threads could run on, or let it go on."""
        if number in self._start.halted:
            with suppress(ProcessLookupError):
                os.kill(self._start.pids[self._start.seats.index(number)], code)

    def close(self) -> None:
        for descriptor in (self._inbox, *self._outboxes.values()):
            os.close(descriptor)
        self._outboxes.clear()
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def measure_in_turns(
    sampler: Sampler, ring: TurnRing, length_s: float, places: MemoryPlaces
) -> tuple[MeasurementResult, float]:
    """Run a block in each turn, of about `length_s`, until all seats have measured enough, and how
    many seconds were not its own; `Limits` say what is enough, of own time, and how long a group
    has turns at most. The memory is moved to other `places` between turns."""
    limits, histogram = sampler.limits, Histogram()
    iterations, own_s, reported_s, cycle = 0, 0.0, 0.0, 0
    start_s = time.perf_counter()
    while True:
        has_turn = ring.await_turn()
        if not has_turn or ring.is_over or sampler.stopped():
            break
        places.move_if_due(own_s)
        turn_start_s = time.perf_counter()
        sampler.watch.begin()
        records = sampler.lanes.block(length_s, RUNS)
        sampler.watch.end(records)
        discount_lead(records, length_s)
        sampler.file.write(records.tobytes())
        latency = latency_ns(counted_records(records))
        iterations += len(latency)
        histogram.add(latency)
        now_s = time.perf_counter()
        own_s += now_s - turn_start_s
        group_s = ring.count(now_s - turn_start_s)
        is_long = own_s >= limits.min_s and iterations >= limits.min_samples
        is_enough = is_long and (cycle + 1 >= CYCLES or own_s >= limits.slow_s)
        if is_enough or group_s >= limits.longest_s(ring.seats):
            ring.note_enough()
        if own_s - reported_s >= _REPORT_S:
            reported_s = own_s
            sampler.report(Progress("measure", iterations, own_s, *running(histogram)))
        ring.hand_on()
        cycle += ring.every
    reason = "min_time"
    if not has_turn or not ring.is_over:
        reason = "stopped"
    elif own_s < limits.min_s or iterations < limits.min_samples:
        reason = "max_time"
    if has_turn:
        ring.hand_on()
    waited_s = time.perf_counter() - start_s - own_s
    return MeasurementResult(iterations, own_s, reason), waited_s


def discount_lead(records: np.ndarray, length_s: float) -> None:
    """Runs that began at the beginning of the turn do not count, but for the last of all: a tenth
    of a turn of 5 ms, nearly a fifth of one of 50.

    The turn's own length does not matter: one slow run would make the lead longer, and so be part
    of it oftener than other runs.
    """
    starts_ns = records["started_ns"]
    is_lead = starts_ns < starts_ns.min() + 1e9 * _LEAD * (length_s - TURN_S / 2.0)
    is_lead[-1] = False
    records["phase"][is_lead] = WARMUP
