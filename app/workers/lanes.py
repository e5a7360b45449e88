"""Several lanes at once: a thread for each, all of them in the same block of time.

What a lane is measured for is the company of the others, so a run counts only if all lanes
were running from its start to its end. Each thread reads the clock around its own calls. The
loop in C leaves the interpreter alone; in Python's the engine's call gives it up, which the
threads share otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from app.cases.round import WARMUP, latency_ns
from app.cases.scenario import Scenario, WaitPolicy
from app.workers.crew import Crew, give_way
from app.workers.lane import TimedLane
from app.workers.loop import SLEEP_MARGIN_NS, WAIT, clock_ns
from runtimes.base import Arrays, Lane


def _spin(until_ns: int) -> None:
    while clock_ns() < until_ns:
        give_way()


def _hybrid(until_ns: int) -> None:
    WAIT["sleep"](until_ns - SLEEP_MARGIN_NS)
    _spin(until_ns)


GIVING_WAIT = {**WAIT, "spin": _spin, "hybrid": _hybrid}
"""Python's waits that leave the interpreter to other lanes: their calls need it to return."""


class SeveralLanes:
    """The lanes of a session; their threads live as long as this is entered."""

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
            TimedLane(lane, scenario, wait_policy, GIVING_WAIT, streaming, first_ns, sets)
            for lane in lanes
        ]
        self._crew = Crew(lanes)

    def __enter__(self) -> Self:
        self._crew.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._crew.__exit__()

    @property
    def run_s(self) -> float:
        return max(timed.run_s for timed in self._timed)

    def block(self, seconds: float, least: int) -> np.ndarray:
        """As `Blocks.block`; of each lane the last run may not count either."""
        for timed in self._timed:
            timed.plan(seconds, least + 1)
        self._crew.together(lambda number: self._timed[number].time())
        records = [timed.records() for timed in self._timed]
        for timed, own in zip(self._timed, records, strict=True):
            timed.typical_ns = float(np.mean(latency_ns(own)))
        return in_company(records)


def in_company(lanes: list[np.ndarray]) -> np.ndarray:
    """One block's records by lane as one array in the order of their start.

    Those become warm-up that began before every lane had begun, or ended after one had ended.
    """
    begun = max(records["started_ns"][0] for records in lanes)
    ended = min(records["finished_ns"][-1] for records in lanes)
    for number, records in enumerate(lanes):
        records["lane"] = number
        alone = (records["started_ns"] < begun) | (records["finished_ns"] > ended)
        records["phase"][alone] = WARMUP
    together = np.concatenate(lanes)
    return together[np.argsort(together["started_ns"], kind="stable")]
