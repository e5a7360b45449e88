"""How often the intervals of p50, p90, p99 and the mean hold the truth on simulated machines."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from app.stats.estimates import (
    Estimate,
    Rounds,
    marks_of,
    typical_mean,
    typical_quantile,
    upper_bound,
)
from app.stats.quantiles import order_statistic
from app.stats.tails import early_stopping
from tests.simulated.machines import Machine

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
FIGURES = (*QUANTILES, "mean")
BOUNDED = ("p90", "p99")
MLPERF = "p99 of MLPerf"
"""The early-stopping estimate from all samples, which is taken for a bound with 99 %."""
RUNS = 3000
_PROCESSES = 2000


@dataclass(slots=True)
class Count:
    """Of the tries, those with an interval (`claimed`), those that were not marked for correlation
    besides (`unmarked`), and how many of these held the truth."""

    tries: int = 0
    claimed: int = 0
    unmarked: int = 0
    held: int = 0
    reaches: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """How often an unmarked interval held; not a number where there is none."""
        return self.held / self.unmarked if self.unmarked else float("nan")

    @property
    def withheld(self) -> float:
        """In what share of the tries nothing was claimed without a mark."""
        return 1.0 - self.unmarked / self.tries

    @property
    def half_width(self) -> float:
        """The median of half the width over the value."""
        return float(np.median(self.reaches)) if self.reaches else float("nan")


def pseudo_medians(logarithms: np.ndarray) -> np.ndarray:
    """Of many processes' figures [processes, figures]: the medians of the geometric means of pairs,
    of which so many are drawn that their median is known to within a two-hundredth of the spread.
    """
    first, second = np.random.default_rng(1).integers(0, len(logarithms), (2, 200_000))
    medians: np.ndarray = np.exp(np.median((logarithms[first] + logarithms[second]) / 2.0, axis=0))
    return medians


@cache
def truths(machine: Machine, runs: int = RUNS) -> dict[str, float]:
    """The figures of a typical process, from many processes with as many runs."""
    rng = np.random.default_rng(20)
    logs = []
    for latencies in machine.processes(rng, _PROCESSES, runs):
        ascending = np.sort(latencies)
        process_quantiles = [
            order_statistic(ascending, quantile) for quantile in QUANTILES.values()
        ]
        logs.append(np.log([*process_quantiles, latencies.mean()]))
    return dict(zip(FIGURES, pseudo_medians(np.array(logs)).tolist(), strict=True))


def estimates(rounds: Rounds) -> dict[str, Estimate]:
    """What a row would have."""
    figures = {name: typical_quantile(rounds, quantile) for name, quantile in QUANTILES.items()}
    return {**figures, "mean": typical_mean(rounds)}


def covered(machine: Machine, rounds: int, tries: int, runs: int = RUNS) -> dict[str, Count]:
    """By figure, `p90 bound`, `p99 bound` and `MLPERF`, of cases with so many rounds."""
    rng = np.random.default_rng(zlib.crc32(f"{machine.name} {rounds} {runs}".encode()))
    truth = truths(machine, runs)
    counts = {name: Count() for name in (*FIGURES, *(f"{name} bound" for name in BOUNDED), MLPERF)}
    for _ in range(tries):
        simulated_rounds = Rounds.of(machine.rounds(rng, rounds, runs))
        figures = estimates(simulated_rounds)
        is_marked = "rounds_correlated" in marks_of(
            simulated_rounds, (figures["p50"], figures["p99"])
        )
        for name, figure in figures.items():
            count, interval = counts[name], figure.interval
            count.tries += 1
            if interval is None or figure.value is None:
                continue
            count.claimed += 1
            count.reaches.append(interval.width / 2.0 / figure.value)
            if not is_marked:
                count.unmarked += 1
                count.held += interval.low <= truth[name] <= interval.high
        for name in BOUNDED:
            bound = upper_bound(simulated_rounds, QUANTILES[name]).value
            _count_bound(counts[f"{name} bound"], bound, truth[name])
        estimate = early_stopping(simulated_rounds.pooled, QUANTILES["p99"]).estimate
        _count_bound(counts[MLPERF], estimate, truth["p99"])
    return counts


def _count_bound(count: Count, bound: float | None, truth: float) -> None:
    count.tries += 1
    if bound is not None:
        count.claimed += 1
        count.unmarked += 1
        count.held += truth <= bound
