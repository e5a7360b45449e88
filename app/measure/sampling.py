"""Blocks of the timed loop: warm-up until steady, measurement until enough, all on disk.

Between blocks, never inside one, samples are appended to the round's file, the parent is
told how far it is, and a request to stop is heard.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from app.measure.job import MEASURED, WARMUP, Limits
from app.measure.loop import WAIT, Block, run_block
from app.measure.steady import is_steady
from app.stats.histogram import Histogram
from app.stats.quantiles import order_interval, order_statistic
from app.sweep.case import Scenario, WaitPolicy
from runtimes.base import Session

BLOCK_S = 0.2
WINDOW_S = 0.05
BLOCK_CAPACITY = 1 << 20
REWARM = 5
"""Runs after each pause between blocks that are recorded as warm-up: caches were disturbed."""


@dataclass(slots=True)
class Progress:
    """What the parent is told between blocks."""

    phase: str
    iterations: int
    elapsed_s: float
    p50_ns: float | None
    p99_ns: float | None


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How warm-up ended; `steady` is False at the cap."""

    iterations: int
    seconds: float
    steady: bool
    median_ns: float


@dataclass(frozen=True, slots=True)
class Measured:
    """How measurement ended; `duration_s` is the sum of its blocks on the clock."""

    iterations: int
    duration_s: float
    stop_reason: str


@dataclass(slots=True)
class Sampler:
    """Runs one bound session in blocks and appends what it timed to `file`.

    `report` is called between blocks; `stopped` is asked there whether to end early.
    """

    session: Session
    scenario: Scenario
    wait_policy: WaitPolicy
    streaming: bool
    limits: Limits
    file: BinaryIO
    report: Callable[[Progress], None]
    stopped: Callable[[], bool]
    _block: Block = field(init=False)

    def __post_init__(self) -> None:
        self._block = Block(1024)

    def warm_up(self, first_ns: float) -> WarmUp:
        """Run windows until their medians agree; `first_ns` is a first guess of one run."""
        limits, begun = self.limits, time.perf_counter()
        medians: list[float] = []
        typical, iterations, steady = max(first_ns, 1.0), 0, False
        while True:
            count = self._count(typical, WINDOW_S, least=3)
            latency = self._run(count, WARMUP)
            iterations += count
            typical = float(np.median(latency))
            medians.append(typical)
            elapsed = time.perf_counter() - begun
            self.report(Progress("warmup", iterations, elapsed, typical, None))
            if elapsed >= limits.warmup_max_s or self.stopped():
                break
            if elapsed >= limits.warmup_min_s and iterations >= limits.warmup_min_iterations:
                steady = is_steady(medians)
                if steady:
                    break
        return WarmUp(iterations, time.perf_counter() - begun, steady, typical)

    def measure(self, typical_ns: float) -> Measured:
        """Run blocks until the limits are met; see `Limits` for what they ask."""
        limits, histogram = self.limits, Histogram()
        kept: list[np.ndarray] = []
        iterations, next_look, begun = 0, 0, time.perf_counter()
        while True:
            left = max(limits.min_s - (time.perf_counter() - begun), 0.0)
            seconds = min(BLOCK_S, left) if left else BLOCK_S / 2
            count = self._count(typical_ns, seconds, least=1)
            if count > 20 * REWARM and iterations:
                self._run(REWARM, WARMUP)
            latency = self._run(count, MEASURED)
            typical_ns = float(np.median(latency))
            iterations += count
            histogram.add(latency)
            kept.append(latency)
            elapsed = time.perf_counter() - begun
            self.report(Progress("measure", iterations, elapsed, *_running(histogram.quantile_s)))
            if self.stopped():
                return Measured(iterations, elapsed, "stopped")
            if elapsed >= limits.max_s:
                return Measured(iterations, elapsed, "max_time")
            if elapsed < limits.min_s or iterations < limits.min_samples:
                continue
            if not limits.interval_fraction:
                return Measured(iterations, elapsed, "min_time")
            if iterations >= next_look:
                next_look = iterations * 5 // 4
                if _narrow(np.concatenate(kept), limits.interval_fraction):
                    return Measured(iterations, elapsed, "interval")

    def _count(self, typical_ns: float, seconds: float, least: int) -> int:
        gap_ns = self.scenario.gap_us * 1e3
        wanted = int(seconds * 1e9 / (typical_ns + gap_ns + 150.0))
        return min(max(wanted, least), BLOCK_CAPACITY)

    def _run(self, count: int, phase: int) -> np.ndarray:
        """Time `count` runs, append them, and return their latencies in ns [count]."""
        if count > self._block.capacity:
            self._block = Block(count)
        session = self.session
        run_block(
            self._block,
            count,
            session.run,
            session.advance_state if self.streaming else None,
            round(self.scenario.gap_us * 1e3),
            WAIT[self.wait_policy],
        )
        records = self._block.records(count, phase)
        self.file.write(records.tobytes())
        latency: np.ndarray = records["finished_ns"] - records["started_ns"]
        return latency


def _running(quantile_s: Callable[[float], float | None]) -> tuple[float | None, float | None]:
    p50, p99 = quantile_s(0.5), quantile_s(0.99)
    return (p50 * 1e9 if p50 else None, p99 * 1e9 if p99 else None)


def _narrow(latency_ns: np.ndarray, fraction: float) -> bool:
    ascending = np.sort(latency_ns)
    interval = order_interval(ascending, 0.5)
    return interval is not None and interval.width <= fraction * order_statistic(ascending, 0.5)
