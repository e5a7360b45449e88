"""Blocks of the timed loop: warm-up until steady, measurement until enough, samples on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from app.cases.round import WARMUP, Limits, OpenLoop, Progress, latency_ns
from app.cases.scenario import Condition
from app.stats.quantiles import Histogram
from app.stats.steadiness import has_settled
from app.workers.lanes import Blocks, counted_records
from app.workers.system_counters import Watch

MAXIMUM_SAMPLES = 4_000_000
"""Of a round: 128 MB. At a run each microsecond half an hour would be 58 GB."""


def sampling_rate(condition: Condition) -> float:
    """How many runs of each second are kept; infinite where no round is that long."""
    return MAXIMUM_SAMPLES / condition.seconds if condition.kind == "sustained" else math.inf


def downsample(records: np.ndarray, per_s: float) -> np.ndarray:
    """Of a block's records [n] those that are kept, in their order; warm-up runs go first."""
    duration_s = float(records["finished_ns"].max() - records["started_ns"].min()) * 1e-9
    maximum = max(1.0, per_s * duration_s)
    if len(records) <= maximum:
        return records
    measured_indices = np.flatnonzero(records["phase"] != WARMUP)
    # Every k-th would follow whatever repeats, such as inputs that are fed in turn.
    rng = np.random.default_rng(int(records["started_ns"][0]))
    selected_indices = rng.choice(
        measured_indices, min(int(maximum), len(measured_indices)), replace=False
    )
    return records[np.sort(selected_indices)]


BLOCK_S = 0.2
MINIMUM_BLOCK_RUNS, SLOW_BLOCK_S = 9, 2.0
"""A block holds so many runs that count, since its first does not, unless they take longer."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How warm-up ended; `settled` is False at the cap, None where too few windows fit below it.

    `median_ns` is that of the last window, `mean_ns` the mean of the runs in the later half of the
    windows.
    """

    iterations: int
    seconds: float
    settled: bool | None
    median_ns: float
    mean_ns: float


@dataclass(frozen=True, slots=True)
class MeasurementResult:
    """How measurement ended; `duration_s` is how long it took on the clock.

    `open_loop` is what became of its requests, where the scenario is one.
    """

    iterations: int
    duration_s: float
    stop_reason: str
    open_loop: OpenLoop | None = None


@dataclass(slots=True)
class Sampler:
    """Takes blocks from the lanes and appends what they timed to `file`.

    `watch` looks at the machine around each measured block; `report` is called between blocks, and
    `stopped` is asked there whether to end early. Of the measured runs at most `sampled_per_s` are
    kept for each second of a block.
    """

    lanes: Blocks
    limits: Limits
    file: BinaryIO
    watch: Watch
    report: Callable[[Progress], None]
    stopped: Callable[[], bool]
    sampled_per_s: float = math.inf
    dropped_count: int = 0

    def warm_up(self) -> WarmUp:
        """Run windows until their medians have settled; none where limits leave no time for any."""
        limits, start_s = self.limits, time.perf_counter()
        if not limits.warmup_max_s:
            first_ns = self.lanes.run_s * 1e9
            return WarmUp(0, 0.0, None, first_ns, first_ns)
        medians: list[float] = []
        runs: list[np.ndarray] = []
        iterations, is_settled = 0, None
        while True:
            records = self.lanes.block(limits.window_s, minimum=1)
            # A first window may be so short that several lanes never ran at once.
            counting = counted_records(records)
            runs.append(latency_ns(counting if len(counting) else records))
            medians.append(float(np.median(runs[-1])))
            records["phase"] = WARMUP
            self.file.write(records.tobytes())
            iterations += len(records)
            elapsed_s = time.perf_counter() - start_s
            self.report(Progress("warmup", iterations, elapsed_s, medians[-1], None))
            is_settled = has_settled(medians)
            if elapsed_s >= limits.warmup_max_s or self.stopped():
                break
            is_enough = (
                elapsed_s >= limits.warmup_min_s and iterations >= limits.warmup_min_iterations
            )
            if is_enough and is_settled:
                break
        mean_ns = float(np.concatenate(runs[len(runs) // 2 :]).mean())
        return WarmUp(iterations, time.perf_counter() - start_s, is_settled, medians[-1], mean_ns)

    def measure(self) -> MeasurementResult:
        """Run blocks until the limits are met; see `Limits` for what they ask."""
        limits, histogram = self.limits, Histogram()
        iterations, start_s = 0, time.perf_counter()
        while True:
            seconds = self._block_s(time.perf_counter() - start_s)
            self.watch.begin()
            records = self.lanes.block(seconds, minimum=1)
            self.watch.end(records)
            timed_count = len(records)
            records = downsample(records, self.sampled_per_s)
            self.dropped_count += timed_count - len(records)
            self.file.write(records.tobytes())
            latency = latency_ns(counted_records(records))
            iterations += len(latency)
            histogram.add(latency)
            elapsed_s = time.perf_counter() - start_s
            self.report(Progress("measure", iterations, elapsed_s, *running(histogram)))
            if self.stopped():
                return MeasurementResult(iterations, elapsed_s, "stopped")
            if elapsed_s >= limits.max_s and iterations:
                return MeasurementResult(iterations, elapsed_s, "max_time")
            if elapsed_s >= limits.min_s and iterations >= limits.min_samples:
                return MeasurementResult(iterations, elapsed_s, "min_time")

    def _block_s(self, elapsed_s: float) -> float:
        """How long the next block is: to the end of what is asked for, but never far beyond."""
        minimum_rest_s = self.limits.min_s - elapsed_s
        maximum_rest_s = self.limits.max_s - elapsed_s
        usual = min(BLOCK_S, minimum_rest_s) if minimum_rest_s > 0 else BLOCK_S / 2
        return max(usual, min(MINIMUM_BLOCK_RUNS * self.lanes.run_s, SLOW_BLOCK_S, maximum_rest_s))


def running(histogram: Histogram) -> tuple[float | None, float | None]:
    """The p50 and p99 so far [ns]."""
    p50, p99 = histogram.quantile_s(0.5), histogram.quantile_s(0.99)
    return (p50 * 1e9 if p50 else None, p99 * 1e9 if p99 else None)
