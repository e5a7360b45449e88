"""Samples of one case's rounds -> the figures of its row: a pure function, nothing trimmed.

Percentiles are order statistics of all rounds together. Their interval is the wider of two:
the exact rank interval of the pooled samples, and the t interval over the rounds' own
percentiles, because a round is a process and processes differ more than iterations do. Fewer
samples than bound a median give it all the same, between the fastest and the slowest. Two
rounds cannot tell how processes spread (one degree of freedom): there the interval reaches
from the lower to the higher of the rounds' own bounds, and is a least width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.between import interval_between
from app.stats.quantiles import (
    Interval,
    needed_samples,
    order_interval,
    order_statistic,
)
from runtimes.execution import Samples

QUANTILES: dict[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True, slots=True)
class Summary:
    """Latencies in microseconds; None where the samples cannot support the figure.

    `quantiles` and `intervals` are keyed p50, p90, p95, p99, p999. `outliers` counts the
    samples more than three interquartile ranges above the third quartile.
    `round_p50_spread` is (max - min) / min of the rounds' medians.
    """

    iterations: int
    rounds: int
    mean_us: float
    std_us: float | None
    min_us: float
    max_us: float
    quantiles: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    response_p50_us: float | None
    response_p99_us: float | None
    start_lateness_p99_us: float | None
    outliers: int
    round_p50_spread: float | None
    warnings: tuple[str, ...] = ()


def summarise(rounds: Sequence[Samples]) -> Summary | None:
    """The summary of the measured samples of all rounds; None if there are none."""
    latencies = [np.sort(samples.latency_ns) for samples in rounds if len(samples.started_ns)]
    if not latencies:
        return None
    pooled = np.sort(np.concatenate(latencies)) / 1e3
    per_round = [ascending / 1e3 for ascending in latencies]
    quantiles = {name: supported_quantile(pooled, q) for name, q in QUANTILES.items()}
    intervals = {name: _interval(pooled, per_round, q) for name, q in QUANTILES.items()}
    if quantiles["p50"] is None:
        quantiles["p50"], intervals["p50"] = order_statistic(pooled, 0.5), _widest(pooled)
    response = np.sort(np.concatenate([s.finished_ns - s.scheduled_ns for s in rounds])) / 1e3
    lateness = np.sort(np.concatenate([s.started_ns - s.scheduled_ns for s in rounds])) / 1e3
    medians = [supported_quantile(ascending, 0.5) for ascending in per_round]
    known = [median for median in medians if median is not None]
    first, third = order_statistic(pooled, 0.25), order_statistic(pooled, 0.75)
    outliers = int(np.count_nonzero(pooled > third + 3.0 * (third - first)))
    spread = (max(known) - min(known)) / min(known) if len(known) > 1 else None
    return Summary(
        iterations=len(pooled),
        rounds=len(per_round),
        mean_us=float(pooled.mean()),
        std_us=float(pooled.std(ddof=1)) if len(pooled) > 1 else None,
        min_us=float(pooled[0]),
        max_us=float(pooled[-1]),
        quantiles=quantiles,
        intervals=intervals,
        response_p50_us=supported_quantile(response, 0.5),
        response_p99_us=supported_quantile(response, 0.99),
        start_lateness_p99_us=supported_quantile(lateness, 0.99),
        outliers=outliers,
        round_p50_spread=spread,
        warnings=(
            *_few(len(pooled)),
            *_warnings(spread, outliers / len(pooled), _tail(quantiles)),
        ),
    )


def supported_quantile(ascending: np.ndarray, quantile: float) -> float | None:
    """The order statistic, or None where too few samples bound it on both sides."""
    if len(ascending) < needed_samples(quantile):
        return None
    return order_statistic(ascending, quantile)


def _interval(
    pooled: np.ndarray, per_round: Sequence[np.ndarray], quantile: float
) -> Interval | None:
    """The wider of the iterations' interval and the rounds'; see the head of this module."""
    within = order_interval(pooled, quantile)
    if within is None:
        return None
    supported = [ascending for ascending in per_round if order_interval(ascending, quantile)]
    own = np.array([order_statistic(ascending, quantile) for ascending in supported])
    between = interval_between(order_statistic(pooled, quantile), own)
    if between is not None:
        return max(within, between, key=lambda interval: interval.width)
    return _hull([within, *(order_interval(ascending, quantile) for ascending in supported)])


def _hull(intervals: Sequence[Interval | None]) -> Interval:
    """From the lowest bound to the highest."""
    known = [interval for interval in intervals if interval is not None]
    return Interval(min(i.low for i in known), max(i.high for i in known))


def _widest(ascending: np.ndarray) -> Interval | None:
    """From the fastest to the slowest: no other of these samples is surer to hold the median."""
    return Interval(float(ascending[0]), float(ascending[-1])) if len(ascending) > 1 else None


def _few(count: int) -> tuple[str, ...]:
    """What so few samples are worth: all lie on one side of the median once in 2^(n-1) times."""
    needed = needed_samples(0.5)
    if count >= needed:
        return ()
    remedy = f"{needed - count} more are needed for 95 %: --profile standard, or more --rounds"
    if count == 1:
        return (f"there was time for 1 run, which bounds no median: {remedy}",)
    held = 1.0 - 2.0 ** (1 - count)
    return (
        f"there was time for {count} runs, the fastest and the slowest of which hold the median "
        f"between them with {held:.0%} only: {remedy}",
    )


def _tail(quantiles: Mapping[str, float | None]) -> float:
    """The p99 over the p50; 1 where either is not known."""
    p50, p99 = quantiles["p50"], quantiles["p99"]
    return p99 / p50 if p50 and p99 else 1.0


def _warnings(round_p50_spread: float | None, outlier_share: float, tail: float) -> tuple[str, ...]:
    """Sentences for a reader who would otherwise trust the figures too far."""
    warnings = []
    if round_p50_spread is not None and round_p50_spread > 0.05:
        warnings.append(
            f"the rounds' medians differ by {round_p50_spread:.0%}: "
            "use more rounds or a quieter machine"
        )
    if outlier_share > 0.01:
        warnings.append(
            f"{outlier_share:.1%} of the samples lie more than three interquartile ranges "
            "above the third quartile: stop other work on this machine"
        )
    elif tail > 10.0:
        warnings.append(
            f"the p99 is {tail:.0f} times the p50: stop other work on this machine, or see "
            "whether the graph's time depends on its inputs"
        )
    return tuple(warnings)
