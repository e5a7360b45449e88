"""The share of late runs in a row: told where it was asked for, with its interval or the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.column import Row
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record


def row_of(path: Path, rounds: Sequence[Sequence[float]], deadline_us: float | None) -> Row:
    manifest = manifest_of((CASE,), len(rounds))
    plan = {**manifest.plan, "deadline_us": deadline_us} if deadline_us else manifest.plan
    with RunFolder.create(path, replace(manifest, plan=plan)) as folder:
        folder.begin(ENVIRONMENT)
        for number, latencies_us in enumerate(rounds):
            record(folder, CASE, number, latencies_us, warmup=2)
    (row,) = Rows().of(read_run(path))
    return row


def test_the_share_is_of_all_measured_runs_and_warm_up_is_none_of_them(tmp_path: Path) -> None:
    rounds = [[50.0] * 98 + [120.0, 150.0], [50.0] * 300, [50.0] * 99 + [101.0]]
    row = row_of(tmp_path / "run", rounds, 100.0)
    assert row["deadline_us"] == 100.0
    assert row["deadline_misses"] == 3
    assert row["deadline_miss_rate"] == pytest.approx(3 / 500)
    low, high = row["deadline_miss_rate_ci_low"], row["deadline_miss_rate_ci_high"]
    assert isinstance(low, float) and isinstance(high, float)
    assert 0 < low < 3 / 500 < high < 1
    assert row["deadline_ci_missing_reason"] is None


def test_two_rounds_say_why_there_is_no_interval(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", [[50.0] * 9 + [120.0]] * 2, 100.0)
    assert row["deadline_miss_rate"] == pytest.approx(0.1)
    assert row["deadline_miss_rate_ci_high"] is None
    assert row["deadline_ci_missing_reason"] == "2 of 3 rounds"


def test_what_nobody_asked_for_is_empty(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", [[50.0] * 10] * 3, None)
    assert (
        row["deadline_us"] is None
        and row["deadline_miss_rate"] is None
        and row["deadline_ci_missing_reason"] is None
    )
