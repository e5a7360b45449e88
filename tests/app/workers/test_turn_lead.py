"""The runs of turns that count have the figures of a stream that nobody cut into turns."""

from __future__ import annotations

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, latency_ns
from app.stats.summary import runs_per_s
from app.workers.lanes import counted_records
from app.workers.turns import discount_lead, turn_s
from runtimes.execution import Samples


def figures(records: np.ndarray) -> list[float]:
    """The p50, the p99.5, the mean and the time that a run takes by the throughput. One run in 100
    is slow: the p99 would lie at the edge of these, the p99.5 lies in their middle."""
    latencies = latency_ns(records)
    begins, ends = records["started_ns"], records["finished_ns"]
    rate = runs_per_s(Samples(begins, begins, ends, "wall"))
    return [*np.quantile(latencies, (0.5, 0.995)).tolist(), float(latencies.mean()), 1e9 / rate]


@pytest.mark.parametrize(("run_us", "turns"), [(23.0, 60), (550.0, 600), (2000.0, 1500)])
def test_what_counts_of_turns_is_as_slow_as_the_rest(run_us: float, turns: int) -> None:
    """One run in 100 takes ten times as long; whether such a run counts is no matter of that."""
    rng, tries = np.random.default_rng(31), 60
    runs = round(turn_s(run_us * 1e-6) / (run_us * 1e-6)) + 1
    offsets = []
    for _ in range(tries):
        times_ns = 1e3 * run_us * np.exp(rng.normal(0.0, 0.03, turns * runs))
        times_ns *= np.where(rng.random(turns * runs) < 0.01, 10.0, 1.0)
        records = np.zeros(turns * runs, RECORD)
        records["finished_ns"] = np.cumsum(times_ns)
        records["started_ns"] = records["scheduled_ns"] = records["finished_ns"] - times_ns
        records["phase"] = MEASURED
        for turn in records.reshape(turns, runs):
            discount_lead(turn)
        counted = counted_records(records)
        assert 0.7 <= len(counted) / len(records) < 0.95
        offsets.append(np.log(figures(counted)) - np.log(figures(records)))
    errors = np.std(offsets, axis=0, ddof=1) / np.sqrt(tries)
    assert (3.0 * errors < 0.002).all()
    assert (np.abs(np.mean(offsets, axis=0)) < 3.0 * errors).all()
