"""What a row promises of its tail, and what MLPerf would report of the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.cases.column import Row
from app.cases.scenario import Scenario
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

PACED = replace(CASE, scenario=Scenario("paced", 20.0))


def rows_of(path: Path, rounds: Sequence[Sequence[float]]) -> list[Row]:
    """Of CASE and PACED, both with these rounds."""
    with RunFolder.create(path, manifest_of((CASE, PACED))) as folder:
        folder.begin(ENVIRONMENT)
        for case in (CASE, PACED):
            for number, latencies_us in enumerate(rounds):
                record(folder, case, number, latencies_us)
    return Rows().of(read_run(path))


def drawn(rounds: int, runs: int) -> list[list[float]]:
    rng = np.random.default_rng(1)
    return [
        (100.0 * np.exp(0.01 * rng.standard_normal() + 0.05 * rng.standard_normal(runs)))
        .round(3)
        .tolist()
        for _ in range(rounds)
    ]


def test_a_promise_lies_beyond_the_figure_and_a_paced_row_has_one_too(tmp_path: Path) -> None:
    for row in rows_of(tmp_path / "run", drawn(6, 4000)):
        for name in ("p90", "p99"):
            bound = row[f"latency_{name}_upper_bound_us"]
            high = row[f"latency_{name}_ci_high_us"]
            assert isinstance(bound, float) and isinstance(high, float) and bound > high
        assert row["upper_bound_missing_reason"] is None


def test_too_few_rounds_promise_nothing_and_mlperf_counts_samples_only(tmp_path: Path) -> None:
    closed_row, paced_row = rows_of(tmp_path / "run", [range(1, 51), range(51, 101)])
    assert closed_row["latency_p90_upper_bound_us"] is None
    assert closed_row["upper_bound_missing_reason"] == "p90: 2 of 5 rounds; p99: 2 of 5 rounds"
    # P(B <= 3) is 0.78 % and P(B <= 4) 2.4 %: three of 100 may lie above, two are left out.
    assert closed_row["mlperf_p90_us"] == 98.0 and closed_row["mlperf_p99_us"] is None
    assert closed_row["mlperf_valid"] is False
    assert closed_row["mlperf_missing_reason"] == "p99: 100 of 662 samples"
    assert paced_row["mlperf_p90_us"] is None and paced_row["mlperf_valid"] is None
