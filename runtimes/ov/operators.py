"""The times of operators from OpenVINO's counters, which tell means only, of all runs there were.

From two readings follows the mean of the runs between them. The median of several such blocks
is not moved by the one in which the system took the core away.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from runtimes.execution import OpTime
from runtimes.ov.lane import OpenVinoLane


class Means:
    """Counts the runs of a lane, of a model compiled with PERF_COUNT: the engine does not tell."""

    def __init__(self, lane: OpenVinoLane) -> None:
        self._lane, self._run, self._runs = lane, lane.run, 0
        lane.run = self._counted

    def op_times(self, run: Callable[[], object], runs: int) -> tuple[OpTime, ...]:
        """The median time of each kernel over blocks of `runs` runs, in the order of execution.

        A mean is cut to whole microseconds, so that a block's is only known the better the
        more of all runs are in it: each block is half as long as all that was before it.
        """
        if not self._runs:
            run()
        end = self._runs + runs
        spent_us: dict[str, list[float]] = {}
        before, known = self._runs, self._totals_us()
        while self._runs < end:
            for _ in range(max(1, min(before // 2, end - before))):
                run()
            totals = self._totals_us()
            for node, total_us in totals.items():
                block_us = (total_us - known.get(node, 0.5 * before)) / (self._runs - before)
                spent_us.setdefault(node, []).append(max(block_us, 0.0))
            before, known = self._runs, totals
        return tuple(
            OpTime(k.node, k.op, median(spent_us[k.node]), k.executed_as, (k.node, *k.fused))
            for k in self._lane.kernels()
            if k.node in spent_us
        )

    def _counted(self) -> object:
        self._runs += 1
        return self._run()

    def _totals_us(self) -> dict[str, float]:
        """All that each kernel took so far; half of the last microsecond is what was cut."""
        return {k.node: (k.time_us + 0.5) * self._runs for k in self._lane.kernels()}
