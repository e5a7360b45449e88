"""Percentiles of a user's choice: told in the row, read back, sorted by, shown and compared."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.columns.table import NAMES, percentile_columns
from app.analysis.columns.tables import read_rows, write_tables
from app.cases.column import Row
from app.plan.plan import parse_plan
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

CHOSEN = (50.0, 99.99, 2.5)
NEW = ("latency_p025_us", "latency_p025_ci_low_us", "latency_p025_ci_high_us", "pooled_p025_us")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five rounds of the same 40,000 latencies: each is 1, 2, ... 40,000 us once."""
    path = tmp_path_factory.mktemp("chosen") / "run"
    grid = {"models": ["mlp"], "runtimes": ["fake"]}
    plan = parse_plan({"sweeps": [grid], "percentiles": list(CHOSEN)}, "test")
    manifest = replace(manifest_of((CASE,), 5), plan=plan.model_dump(mode="json"))
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(5):
            latencies = np.random.default_rng(number).permutation(np.arange(1.0, 40_001.0))
            record(folder, CASE, number, latencies.tolist())
        write_tables(folder, Rows().of(read_run(path)))
    return path


@pytest.fixture(scope="module")
def row(path: Path) -> Row:
    return read_rows(path / "results.full.csv")[CASE.case_id]


def test_a_row_tells_what_was_chosen_beside_what_every_row_tells(row: Row) -> None:
    """A tail that rounds are too short for has no interval, and says so."""
    figures = {"p9999": 39_996.0, "p025": 1_000.0, "p99": 39_600.0}
    assert [row[f"latency_{name}_us"] for name in figures] == pytest.approx([*figures.values()])
    assert row["pooled_p9999_us"] == 39_996.0
    low, high = row["latency_p025_ci_low_us"], row["latency_p025_ci_high_us"]
    assert isinstance(low, float) and isinstance(high, float)
    assert low < 1_000.0 < high
    assert row["latency_p9999_ci_low_us"] is None
    reason = str(row["ci_missing_reason"])
    assert "p99.99" in reason and "of 20 independent runs" in reason


def test_its_columns_come_last_and_are_read_back_as_they_were_written(path: Path) -> None:
    (expected,) = Rows().of(read_run(path))
    header = next(csv.reader(io.StringIO((path / "results.full.csv").read_text())))
    assert tuple(header) == (*NAMES, *NEW, *percentile_columns((99.99,)))
    read = read_rows(path / "results.full.csv")[CASE.case_id]
    assert {name: read[name] for name in expected} == expected
