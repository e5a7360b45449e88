"""Several slots at once: a thread for each, all of them in the same block of time.

What a slot is measured for is the company of the others, so a run counts only if all slots
were running from its start to its end. Each thread reads the clock around its own calls, and
the engine's call gives up the interpreter, which the threads share otherwise.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import Self

import numpy as np

from app.cases.case import Scenario, WaitPolicy
from app.cases.round import MEASURED, WARMUP
from app.workers.loop import SLEEP_MARGIN_NS, WAIT, clock_ns
from app.workers.slots import REWARM, Lane, latency_ns, many
from runtimes.base import Session

SWITCH_S = 5e-5
"""How long a thread that wants the interpreter waits before it asks the one that has it."""

_yield = ctypes.CDLL(None).sched_yield  # os.sched_yield would keep the interpreter


def _spin(until_ns: int) -> None:
    while clock_ns() < until_ns:
        _yield()


def _hybrid(until_ns: int) -> None:
    WAIT["sleep"](until_ns - SLEEP_MARGIN_NS)
    _spin(until_ns)


GIVING_WAIT = {**WAIT, "spin": _spin, "hybrid": _hybrid}
"""Waits that leave the interpreter to the other slots, whose calls could not return without."""


class Abreast:
    """The slots of a session; their threads live as long as this is entered."""

    def __init__(
        self,
        session: Session,
        scenario: Scenario,
        wait_policy: WaitPolicy,
        streaming: bool,
        first_ns: float,
    ) -> None:
        self._session = session
        self._lanes = [
            Lane(
                session.run_of(slot),
                partial(session.advance_state, slot) if streaming else None,
                scenario,
                GIVING_WAIT[wait_policy],
                first_ns,
            )
            for slot in range(session.slots)
        ]
        self._counts = [0] * session.slots
        self._gate = threading.Barrier(session.slots + 1)
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), daemon=True)
            for slot in range(session.slots)
        ]
        self._failures: list[Exception] = []
        self._switch_s = sys.getswitchinterval()

    def __enter__(self) -> Self:
        sys.setswitchinterval(SWITCH_S)
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.abort()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        sys.setswitchinterval(self._switch_s)

    def block(self, seconds: float, least: int, rewarm: bool) -> np.ndarray:
        """As `Slots.block`; of each slot the first and the last run may not count."""
        counts = [lane.count(seconds, least + 2) for lane in self._lanes]
        skipped = [REWARM if rewarm and many(count) else 0 for count in counts]
        self._counts = [count + skip for count, skip in zip(counts, skipped, strict=True)]
        self._gate.wait()
        self._gate.wait()
        if self._failures:
            raise self._failures[0]
        records = [
            lane.records(count, MEASURED)
            for lane, count in zip(self._lanes, self._counts, strict=True)
        ]
        for lane, own in zip(self._lanes, records, strict=True):
            lane.typical_ns = float(np.mean(latency_ns(own)))
        return in_company(records, skipped)

    def _serve(self, slot: int) -> None:
        """What a slot's thread does until the gate is broken."""
        try:
            self._session.enter(slot)
        except Exception as error:
            self._failures.append(error)
        with suppress(threading.BrokenBarrierError):
            while True:
                self._gate.wait()
                try:
                    if not self._failures:
                        self._lanes[slot].time(self._counts[slot])
                except Exception as error:
                    self._failures.append(error)
                self._gate.wait()


def in_company(slots: list[np.ndarray], skipped: list[int]) -> np.ndarray:
    """One block's records by slot as one array in the order of their start.

    Those become warm-up that are among the first `skipped` of their slot, or began before
    every slot had begun, or ended after a slot had ended.
    """
    begun = max(records["started_ns"][0] for records in slots)
    ended = min(records["finished_ns"][-1] for records in slots)
    for slot, (records, skip) in enumerate(zip(slots, skipped, strict=True)):
        records["lane"] = slot
        records["phase"][:skip] = WARMUP
        alone = (records["started_ns"] < begun) | (records["finished_ns"] > ended)
        records["phase"][alone] = WARMUP
    together = np.concatenate(slots)
    return together[np.argsort(together["started_ns"], kind="stable")]
