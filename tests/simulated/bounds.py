"""How often the one-sided bound of a percentile holds, counted over simulated runs."""

from __future__ import annotations

from dataclasses import replace

from app.stats.estimates import Rounds, upper_bound
from app.stats.tails import early_stopping
from tests.simulated.coverage import Covered, counted
from tests.simulated.streams import Stream


def bounded(
    stream: Stream, rounds: int, runs: int, quantiles: tuple[float, ...], tries: int
) -> dict[float, Covered]:
    """By quantile, for rounds of so many runs."""
    return counted("bound ", _bound, stream, rounds, runs, quantiles, tries)


def early_stopped(stream: Stream, rounds: int, runs: int, quantile: float, tries: int) -> Covered:
    """The same of MLPerf's estimate from all samples together, which has no marks."""
    results = counted("mlperf ", _estimate, stream, rounds, runs, (quantile,), tries)
    return replace(results[quantile], marks=())


def _bound(rounds: Rounds, quantile: float, truth: float) -> bool | None:
    bound = upper_bound(rounds, quantile).value
    return None if bound is None else truth <= bound


def _estimate(rounds: Rounds, quantile: float, truth: float) -> bool | None:
    estimate = early_stopping(rounds.pooled, quantile).estimate
    return None if estimate is None else truth <= estimate
