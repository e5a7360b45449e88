"""Turns: the processes of one comparison are alive together, and one at a time runs for some
milliseconds, so that all of them see the same states of the machine.

A token goes round in an order that is drawn anew for each cycle. Who has it runs for 5 ms or four
runs, whichever is longer, and hands it on between two runs. What begins in the first half
millisecond of it counts as warm-up: caches and branch predictors are still those of another
process. Whose turns are much longer than the others' has one only in every so many cycles.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np

from app.cases.round import WARMUP, Progress, latency_ns
from app.cases.turns import FIRST_SEAT, HOLDER, OVER, STATE, TurnSeat, TurnStart
from app.stats.quantiles import Histogram
from app.workers.lanes import counted_records
from app.workers.sampling import MeasurementResult, Sampler, running

_TURN_S, _RUNS = 0.005, 4
_LEAD_NS = 500_000
"""A tenth of a turn. It does not depend on the turn's own length: one slow run would make the lead
longer, and so be part of it oftener than other runs."""
_REPORT_S = 0.2
_CYCLES = 60
"""So many turns give a set's ratio, unless they take too long."""


def turn_s(run_s: float) -> float:
    """How long a turn is, of runs that take so long."""
    return max(_TURN_S, _RUNS * run_s)


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
        self._start = TurnStart((), (), ())
        self.every = 1
        self._orders: dict[int, list[int]] = {}

    def begin(self, start: TurnStart) -> None:
        """Take part with these; one that is gone neither blocks nor breaks a pipe."""
        self._start = start
        self.every = start.every[start.seats.index(self._seat.number)]
        for number in start.seats:
            self._outboxes[number] = os.open(self._folder / str(number), os.O_RDWR)

    def await_turn(self, cycle: int) -> bool:
        """Wait for the token; False if the parent asks to stop first. Who had it before is halted
        if its threads could run on."""
        readable, _, _ = select.select([self._inbox, 0], [], [])
        if self._inbox not in readable:
            return False
        os.read(self._inbox, 1)
        self._state[HOLDER] = self._seat.number
        order = self._order(cycle)
        place = order.index(self._seat.number)
        has_all = len(order) == len(self._start.seats)  # else one would wait for ever
        if place == 0 and has_all and all(self._state[FIRST_SEAT + n] for n in order):
            self._state[OVER] = 1
        former = order[place - 1] if place else self._order(cycle - 1)[-1] if cycle else None
        if former is not None and former != self._seat.number and not self.is_over:
            self._signal(former, signal.SIGSTOP)
        return True

    @property
    def is_over(self) -> bool:
        return bool(self._state[OVER])

    def note_enough(self) -> None:
        """This seat needs no more turns; it has them until no other does."""
        self._state[FIRST_SEAT + self._seat.number] = 1

    def hand_on(self, cycle: int) -> None:
        """Give the token to who comes next."""
        order = self._order(cycle)
        place = order.index(self._seat.number) + 1
        following = order[place] if place < len(order) else self._order(cycle + 1)[0]
        self._signal(following, signal.SIGCONT)
        os.write(self._outboxes[following], b"t")

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

    def _order(self, cycle: int) -> list[int]:
        if cycle not in self._orders:
            self._orders = {k: v for k, v in self._orders.items() if k >= cycle - 1}
            self._orders[cycle] = self._start.order(self._seat.set_name, cycle)
        return self._orders[cycle]


def measure_in_turns(
    sampler: Sampler, ring: TurnRing, seats: int
) -> tuple[MeasurementResult, float]:
    """Run a block in each turn until all seats have measured enough, and how many seconds were the
    others'; `Limits` say what is enough, of own time, and their longest holds for each seat."""
    limits, histogram = sampler.limits, Histogram()
    iterations, own_s, reported_s, cycle = 0, 0.0, 0.0, 0
    start_s = time.perf_counter()
    while True:
        has_turn = ring.await_turn(cycle)
        if not has_turn or ring.is_over or sampler.stopped():
            break
        turn_start_s = time.perf_counter()
        sampler.watch.begin()
        records = sampler.lanes.block(_TURN_S, _RUNS)
        sampler.watch.end(records)
        discount_lead(records)
        sampler.file.write(records.tobytes())
        latency = latency_ns(counted_records(records))
        iterations += len(latency)
        histogram.add(latency)
        now_s = time.perf_counter()
        own_s += now_s - turn_start_s
        is_long = own_s >= limits.min_s and iterations >= limits.min_samples
        is_enough = is_long and (cycle + 1 >= _CYCLES or own_s >= limits.slow_s)
        if is_enough or now_s - start_s >= limits.longest_s(seats):
            ring.note_enough()
        if own_s - reported_s >= _REPORT_S:
            reported_s = own_s
            sampler.report(Progress("measure", iterations, own_s, *running(histogram)))
        ring.hand_on(cycle)
        cycle += ring.every
    reason = "min_time"
    if not has_turn or not ring.is_over:
        reason = "stopped"
    elif own_s < limits.min_s or iterations < limits.min_samples:
        reason = "max_time"
    if has_turn:
        ring.hand_on(cycle)
    waited_s = time.perf_counter() - start_s - own_s
    return MeasurementResult(iterations, own_s, reason), waited_s


def discount_lead(records: np.ndarray) -> None:
    """Runs that began at the beginning of the turn do not count, but for the last of all."""
    starts_ns = records["started_ns"]
    is_lead = starts_ns < int(starts_ns.min()) + _LEAD_NS
    is_lead[-1] = False
    records["phase"][is_lead] = WARMUP
