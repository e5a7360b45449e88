"""A row of an open loop says what became of its requests, and is not valid if they say little;
inputs in a second of each scenario that has them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import MEASURED, RECORD, OpenLoop, RoundResult
from app.cases.scenario import Scenario
from app.run_folder.diagnostics import diagnostics_of, text
from app.run_folder.folder import RunFolder
from app.runs.exporting.tables import export_parquet
from app.runs.following.samples import SampleTail
from app.runs.reader import read_run
from app.stats.quantiles import Histogram
from exporters.diagnostics import diagnostic
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, measured_run

OPEN = Case("add.onnx", "fake", scenario=Scenario.parse("rate:1000/s"))
HELD = OpenLoop("a" * 64, due=500, left=0, seconds=0.5, utilisation=0.4)
SERVICE_NS, RUNS = 400_000, 500


def recorded(path: Path, became: OpenLoop, late_ns: int, wait_policy: str = "spin") -> Row:
    """The row of two rounds of even arrivals that each began so late."""
    case = Case("add.onnx", "fake", scenario=OPEN.scenario, wait_policy=wait_policy)  # type: ignore[arg-type]
    with RunFolder.create(path, manifest_of((case,))) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(2):
            records = np.zeros(RUNS, RECORD)
            records["scheduled_ns"] = np.arange(1, RUNS + 1) * 1_000_000
            records["started_ns"] = records["scheduled_ns"] + late_ns
            records["finished_ns"] = records["started_ns"] + SERVICE_NS
            records["phase"] = MEASURED
            name = f"{case.case_id}.{number}.bin"
            (folder.samples / name).write_bytes(records.tobytes())
            folder.record(
                RoundResult(
                    case.case_id, number, "ok", samples=name, iterations=RUNS, open_loop=became
                )
            )
        (row,) = Rows().of(read_run(path))
    return row


def test_a_row_counts_from_the_schedule_and_tells_service_and_queue_beside_it(
    tmp_path: Path,
) -> None:
    row = recorded(tmp_path / "run", HELD, late_ns=10_000)
    assert row["latency_p50_us"] == row["latency_p99_us"] == pytest.approx(410.0)
    assert (row["service_p50_us"], row["service_p90_us"], row["service_p99_us"]) == (400.0,) * 3
    assert (row["queue_p50_us"], row["queue_p99_us"]) == (10.0, 10.0)
    assert (row["schedule_slip_p50_us"], row["schedule_slip_p99_us"]) == (10.0, 10.0)
    assert (row["offered_rate_hz"], row["achieved_rate_hz"], row["backlog_at_end"]) == (
        1000.0,
        1000.0,
        0,
    )
    assert row["utilisation"] == pytest.approx(0.4)
    schedule_text = "\n".join(["a" * 64] * 2)
    assert row["schedule_sha256"] == hashlib.sha256(schedule_text.encode()).hexdigest()
    assert row["response_p50_us"] is None, "that would say the latency twice"
    assert row["valid"] is True


def test_an_overload_makes_the_row_invalid_and_says_what_was_served(tmp_path: Path) -> None:
    became = OpenLoop("a" * 64, due=2000, left=1500, seconds=2.0, utilisation=4.0)
    row = recorded(tmp_path / "run", became, late_ns=0)
    assert row["valid"] is False
    expected = diagnostic("overloaded", offered_hz=1000.0, served_hz=250.0, left=3000)
    assert expected in diagnostics_of(row)
    assert row["reason"]


@pytest.mark.parametrize("policy", ["spin", "sleep"])
def test_a_generator_that_was_late_itself_makes_the_row_invalid(
    tmp_path: Path, policy: str
) -> None:
    row = recorded(tmp_path / "run", HELD, late_ns=80_000, wait_policy=policy)
    assert row["valid"] is False
    (late,) = (entry for entry in diagnostics_of(row) if entry.code == "load_generator_late")
    figures = {"percentile": "p50", "late_us": 80.0, "latency_us": 480.0}
    assert late.parameters == pytest.approx({**figures, "wait_policy": policy})
    assert ("--idle-policy spin" in text(late)) == (policy != "spin"), "not what is done already"


def test_whoever_follows_or_exports_the_samples_counts_as_the_row_does(tmp_path: Path) -> None:
    recorded(tmp_path / "run", HELD, late_ns=100_000)
    run = read_run(tmp_path / "run")
    (samples,) = {path.name: path for path in (run.path / "samples").glob("*.0.bin")}.values()
    tail, expected = SampleTail(samples, from_schedule=True), Histogram()
    tail.poll()
    expected.add(np.full(RUNS, SERVICE_NS + 100_000))
    assert (tail.counts == expected.counts).all()
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(export_parquet(run, [])[1])
    assert set(table["latency_ns"].to_pylist()) == {SERVICE_NS + 100_000}


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
