"""Percentiles of a user's choice: told in the row, read back, sorted by, shown and compared."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.cases.column import Row
from app.cases.columns import NAMES, column, percentile_columns
from app.cases.errors import PlanError
from app.plan.plan import parse_plan
from app.present.console.row_table import row_table, shown_percentiles, sort_column
from app.present.terminal import as_text
from app.run_folder.folder import RunFolder
from app.run_folder.table import read_rows, write_tables
from app.runs.exporting.tables import export_parquet
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

CHOSEN = (50.0, 99.99, 2.5)
NEW = ("latency_p025_us", "latency_p025_ci_low_us", "latency_p025_ci_high_us", "pooled_p025_us")


def run_at(path: Path, percentiles: tuple[float, ...] = CHOSEN, factor: float = 1.0) -> Path:
    """Five rounds of the same 40,000 latencies: each is 1, 2, ... 40,000 us once."""
    grid = {"models": ["mlp"], "runtimes": ["fake"]}
    plan = parse_plan({"sweeps": [grid], "percentiles": list(percentiles)}, "test")
    manifest = replace(manifest_of((CASE,), 5), plan=plan.model_dump(mode="json"))
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(5):
            latencies = np.random.default_rng(number).permutation(np.arange(1.0, 40_001.0))
            record(folder, CASE, number, (factor * latencies).tolist())
        write_tables(folder, Rows().of(read_run(path)))
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_at(tmp_path_factory.mktemp("chosen") / "run")


@pytest.fixture(scope="module")
def row(path: Path) -> Row:
    return read_rows(path / "results.full.csv")[CASE.case_id]


def test_a_row_tells_what_was_chosen_beside_what_every_row_tells(row: Row) -> None:
    assert row["latency_p9999_us"] == pytest.approx(39_996.0)
    assert row["pooled_p9999_us"] == 39_996.0
    assert row["latency_p025_us"] == pytest.approx(1_000.0)
    assert row["latency_p99_us"] == pytest.approx(39_600.0), "the default ones stay"
    low, high = row["latency_p025_ci_low_us"], row["latency_p025_ci_high_us"]
    assert isinstance(low, float) and isinstance(high, float)
    assert low < 1_000.0 < high


def test_a_tail_that_rounds_are_too_short_for_has_no_interval_and_says_so(row: Row) -> None:
    assert row["latency_p9999_ci_low_us"] is None
    assert "p99.99" in str(row["ci_missing_reason"]) and "of 20 independent runs" in str(
        row["ci_missing_reason"]
    )


def test_its_columns_come_last_and_are_read_back_as_they_were_written(path: Path) -> None:
    (expected,) = Rows().of(read_run(path))
    header = next(csv.reader(io.StringIO((path / "results.full.csv").read_text())))
    assert tuple(header) == (*NAMES, *NEW, *percentile_columns((99.99,)))
    read = read_rows(path / "results.full.csv")[CASE.case_id]
    assert {name: read[name] for name in expected} == expected
    parquet = pytest.importorskip("pyarrow.parquet")
    run = read_run(path)
    results, _ = export_parquet(run, Rows().of(run))
    assert parquet.read_table(results)["latency_p9999_us"].to_pylist() == [
        expected["latency_p9999_us"]
    ]


def test_the_pattern_names_no_other_column() -> None:
    assert column("latency_p99_us") is column("latency_p99_us")
    definition = column("latency_p025_us")
    assert definition is not None
    assert definition.title == "p2.5 (µs)"
    assert definition.meaning.startswith("2.5 of 100 runs were at most this slow")
    for name in ("latency_p9_us", "latency_mode_us", "pooled_p99999_ms", "p9999"):
        assert column(name) is None


def test_the_table_has_the_chosen_ones_and_is_sorted_by_them(path: Path, row: Row) -> None:
    percentiles = shown_percentiles(CHOSEN)
    for width, columns in ((80, ("p50", "p99.99")), (200, ("p50", "p99.99", "p2.5"))):
        table = row_table([row], {}, percentiles=percentiles)
        head = as_text([table], width).splitlines()[0].split()
        assert set(columns) <= set(head)
        assert "p99" not in head
    assert sort_column("p99.99", CHOSEN) == "latency_p9999_us"
    assert sort_column("pooled_p025_us", CHOSEN) == "pooled_p025_us"
    with pytest.raises(PlanError, match="--sort p97 is no column"):
        sort_column("p97", CHOSEN)


def test_two_runs_are_compared_by_what_both_chose(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run_at(tmp_path / "other", (99.99, 95.0), factor=2.0)
    output = tmp_path / "compared.json"
    assert main(["compare", str(path), str(other), "--json", str(output)]) == 0
    (case,) = json.loads(output.read_text())["cases"]
    assert list(case["percentiles"]) == ["p9999"]
