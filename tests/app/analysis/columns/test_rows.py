"""What a row says of its rounds: worked out by hand from known samples."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.columns import rows as rows_module
from app.analysis.columns.rows import Rows, fresh_rows
from app.analysis.columns.table import NAMES
from app.analysis.columns.tables import read_rows
from app.cases.column import Row
from app.cases.errors import FileError
from app.cases.round import Check
from app.cases.scenario import Scenario
from app.cases.status import Status
from app.run_folder import copies as copies_module
from app.run_folder.copies import copies_of
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.runs.reader import read_run
from exporters.diagnostics import diagnostic
from tests.app.analysis.columns.filled import filled_csv
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record

PACED = replace(CASE, scenario=Scenario("paced", 20.0), wait_policy="hybrid")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path / "run", manifest_of((CASE, OTHER, PACED))) as folder:
        folder.begin(ENVIRONMENT)
        yield folder


def rows_of(folder: RunFolder) -> list[Row]:
    return Rows().of(read_run(folder.path))


def test_figures_come_from_all_rounds_without_their_warm_up(folder: RunFolder) -> None:
    record(folder, CASE, 0, range(1, 51), warmup=7)
    record(folder, CASE, 1, range(51, 101), warmup=3)
    row = rows_of(folder)[0]
    assert row["latency_mean_us"] == pytest.approx((25.5 * 75.5) ** 0.5), "each round weighs alike"
    assert row["latency_p50_us"] == pytest.approx((25.0 * 75.0) ** 0.5)
    assert (row["pooled_p50_us"], row["pooled_p90_us"]) == (50.0, 90.0)
    assert row["latency_p99_us"] is None, "100 samples do not support a p99"
    assert (row["latency_min_us"], row["latency_max_us"]) == (1.0, 100.0)
    assert (row["iterations"], row["warmup_iterations"], row["rounds"]) == (100, 10, 2)
    assert row["throughput_per_s"] == pytest.approx(4 * 1e6 / (25.5 * 75.5) ** 0.5)


def test_rows_of_all_cores_are_those_of_one(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for case in (CASE, OTHER, PACED):
        for number in range(2):
            record(folder, case, number, range(1, 51))
    monkeypatch.setattr(copies_module, "_MANY", 1)
    monkeypatch.setattr(copies_module, "usable_cores", lambda: {0, 1})
    monkeypatch.setattr(rows_module, "_TOGETHER", 2)
    run, own_id = read_run(folder.path), os.getpid()
    with copies_of(run) as copies:
        assert copies.begin(process_id)() != own_id
        rows = fresh_rows(copies)
        assert rows == Rows().of(run) and rows[0]["rounds"] == 2
        assert copies.begin(end_in_copy, own_id)() == copies.begin(end_in_copy, own_id)() == own_id
        assert fresh_rows(copies) == rows, "without the copies"
    run.samples_path(run.rounds[OTHER.case_id][1]).unlink()
    with copies_of(run) as copies, pytest.raises(FileError, match="can't be read"):
        fresh_rows(copies)


def process_id(run: Run) -> int:
    return os.getpid()


def end_in_copy(run: Run, own_id: int) -> int:
    if os.getpid() != own_id:
        os.kill(os.getpid(), signal.SIGKILL)
    return own_id


def test_an_interval_says_how_it_was_had_and_bounds_the_throughput_too(folder: RunFolder) -> None:
    for number in range(4):
        record(folder, CASE, number, range(1 + number, 51 + number))
    row = rows_of(folder)[0]
    for name, ends in (
        ("latency_p50_us", "latency_p50_ci_{}_us"),
        ("latency_mean_us", "latency_mean_ci_{}_us"),
        ("throughput_per_s", "throughput_ci_{}_per_s"),
    ):
        low, middle, high = row[ends.format("low")], row[name], row[ends.format("high")]
        assert isinstance(low, float) and isinstance(high, float) and isinstance(middle, float)
        assert low < middle < high
    assert row["ci_method"] == "t_ranks"
    assert row["ci_flags"] == "few_rounds few_runs"
    assert "independent runs" in str(row["ci_missing_reason"]), "p99 of 200 samples"


def test_the_parts_of_a_run_are_medians_over_the_rounds(folder: RunFolder) -> None:
    """Runs at once multiply the throughput, and a paced row claims none."""
    for number, device_us in enumerate((30.0, 10.0, 20.0)):
        facts = {"device_p50_us": device_us, "cycles": 100 + number}
        record(folder, CASE, number, [50.0] * 50, facts=facts, concurrency=3)
    record(folder, PACED, 0, [10.0] * 50)
    row, _, paced = rows_of(folder)
    assert (row["device_p50_us"], row["h2d_p50_us"], row["cycles"]) == (20.0, None, 102)
    assert row["concurrency"] == 3 and row["latency_p50_us"] == pytest.approx(50.0)
    assert row["throughput_per_s"] == pytest.approx(3 * 4 * 1e6 / 50.0)
    assert (paced["scenario"], paced["gap_us"], paced["wait_policy"]) == ("paced", 20.0, "hybrid")
    assert paced["throughput_per_s"] is None


def test_rounds_of_two_releases_are_no_figure_of_either(folder: RunFolder) -> None:
    """Who upgrades an environment and then resumes a run has both in one row."""
    for case, releases in ((CASE, ("1.27.0", "1.31.1")), (OTHER, ("1.27.0", "1.27.0"))):
        for number, release in enumerate(releases):
            path = f"/{release}/__init__.py"
            record(folder, case, number, [100.0] * 50, runtime_version=release, engine_path=path)
    two, one = rows_of(folder)[:2]
    assert two["engine_path"] == "/1.27.0/__init__.py; /1.31.1/__init__.py"
    assert diagnostic("engine_changed", releases=("1.27.0", "1.31.1")) in diagnostics_of(two)
    assert "engine_changed" not in str(one["warning_codes"])


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (("ok", "ok"), "ok"),
        (("ok", "crashed"), "crashed"),
        (("wrong_output",), "wrong_output"),
        (("partial", "ok"), "partial"),
        (("timeout", "crashed"), "crashed"),
    ],
)
def test_the_worst_round_decides(
    folder: RunFolder, statuses: Sequence[Status], expected: str
) -> None:
    for number, status in enumerate(statuses):
        record(folder, CASE, number, [10.0] * 8, status, reason=f"because {status}")
    row = rows_of(folder)[0]
    assert (row["status"], row["reason"]) == (expected, f"because {expected}")
    assert row["latency_p50_us"] == pytest.approx(10.0), "the timing is kept"


def test_rows_are_recomputed_when_a_round_is_added_and_quote_the_worst(folder: RunFolder) -> None:
    """Of checks too; a protocol broken in one round marks the row, and a case that was not reached
    is one."""
    rows = Rows()
    assert [row["status"] for row in rows.of(read_run(folder.path))] == ["not_run"] * 3
    bad = Check("torch", 0.5, 0.25, 0.9, 1e-4, False)
    record(folder, CASE, 0, [10.0] * 8, check=bad)
    row = rows.of(read_run(folder.path))[0]
    assert (row["status"], row["valid"]) == ("ok", True)
    assert row["latency_mean_us"] == pytest.approx(10.0)
    assert diagnostic("rounds_missing", measured=1, planned=2) in diagnostics_of(row)
    warning = diagnostic("no_steady_state", warmup_s=3.0)
    good = Check("torch", 1e-6, 1e-6, 1.0, 1e-4, True)
    record(folder, CASE, 1, [30.0] * 8, check=good, valid=False, warnings=(warning,))
    row = rows.of(read_run(folder.path))[0]
    assert row["latency_mean_us"] == pytest.approx(300.0**0.5)
    assert (row["max_rel_error"], row["output_ok"], row["reference"]) == (0.25, False, "torch")
    assert (row["status"], row["valid"]) == ("ok", False)
    assert "no_steady_state" in str(row["warning_codes"])


def test_every_cell_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    rows, path = filled_csv(tmp_path / "run")
    assert [{**dict.fromkeys(NAMES), **row} for row in read_rows(path).values()] == [
        {**dict.fromkeys(NAMES), **row} for row in rows
    ]


def test_parquet_holds_the_same_rows_and_every_sample(folder: RunFolder) -> None:
    from pyarrow import parquet

    from app.runs.exporting.tables import export_parquet

    record(folder, CASE, 0, [10.0, 20.0, 30.0], warmup=2)
    run = read_run(folder.path)
    results, samples = export_parquet(run, Rows().of(run))
    assert parquet.read_table(results).column_names == list(NAMES)
    table = parquet.read_table(samples).to_pydict()
    assert table["phase"] == ["warmup"] * 2 + ["measured"] * 3
    assert set(table["case_id"]) == {CASE.case_id}
    latencies = [b - a for a, b in zip(table["started_ns"], table["finished_ns"], strict=True)]
    assert latencies[2:] == [10_000, 20_000, 30_000]
