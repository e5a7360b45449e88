"""Inputs in a second of each scenario that has them, and what such a row leaves empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import MEASURED, RECORD, RoundResult
from app.cases.scenario import Scenario
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, measured_run

QUERIES = replace(CASE, scenario=Scenario.parse("multistream:8"))
OFFLINE = replace(CASE, scenario=Scenario.parse("offline"))


def row_of(path: Path, case: Case, rounds: Sequence[Sequence[float]], concurrency: int) -> Row:
    (row,) = Rows().of(measured_run(path, (case, rounds, {"concurrency": concurrency})))
    return row


def record_blocks(folder: RunFolder, number: int, run_us: float) -> None:
    """Two blocks of 20 runs of two lanes that take turns of so long, with a pause between them."""
    records = np.zeros(40, RECORD)
    records["phase"], records["lane"] = MEASURED, np.arange(40) % 2
    turn = np.arange(40) % 20 // 2
    due_ns = np.repeat([0, 10_000_000], 20)
    records["scheduled_ns"] = due_ns
    records["started_ns"] = due_ns + 5000 + turn * run_us * 1e3
    records["finished_ns"] = records["started_ns"] + run_us * 1e3
    name = f"{OFFLINE.case_id}.{number}.bin"
    (folder.samples / name).write_bytes(records.tobytes())
    folder.record(
        RoundResult(OFFLINE.case_id, number, "ok", samples=name, iterations=40, concurrency=2)
    )


def test_a_querys_requests_over_its_mean_are_multistreams_throughput(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", QUERIES, [[400.0] * 50] * 3, concurrency=2)
    # Eight requests of four inputs in 400 µs, however many lanes shared them.
    assert row["throughput_per_s"] == pytest.approx(8 * 4 / 400e-6)
    assert row["throughput_ci_low_per_s"] == pytest.approx(8 * 4 / 400e-6)


def test_offline_tells_the_rate_of_its_blocks_and_nothing_from_an_arrival(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of((OFFLINE,), 3)) as folder:
        folder.begin(ENVIRONMENT)
        for number, run_us in enumerate((10.0, 20.0, 40.0)):
            record_blocks(folder, number, run_us)
    (row,) = Rows().of(read_run(tmp_path / "run"))
    # Two lanes, ten turns of 20 µs in the typical round; four inputs a run.
    assert row["throughput_per_s"] == pytest.approx(4 * 20 / 200e-6)
    low, high = row["throughput_ci_low_per_s"], row["throughput_ci_high_per_s"]
    assert isinstance(low, float) and isinstance(high, float)
    assert low < 4 * 20 / 200e-6 < high
    assert row["latency_p50_us"] == pytest.approx(20.0), "a run's own time"
    empty = [name for name in row if name.startswith(("response_", "schedule_slip_", "mlperf_"))]
    assert len(empty) >= 7
    assert all(row[name] is None for name in empty)
