"""What a history takes of a run folder: its table where that is whole, else its samples."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from app.cases.errors import ResultsError
from app.history.past_runs import past_runs
from app.history.trends import read_history
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import FULL_TABLE
from tests.app.history.pasts import night_at, nights_at
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record


def p50_of(run: Path) -> float:
    (past_run,), _ = past_runs(run)
    (value,) = [row["latency_p50_us"] for case, row in past_run.cases if case == CASE]
    assert isinstance(value, float)
    return value


def with_cell(run: Path, old: str, new: str) -> None:
    table = run / FULL_TABLE
    text = table.read_text("utf-8")
    assert old in text
    table.write_text(text.replace(old, new), "utf-8")


def test_the_table_and_the_samples_give_the_same(tmp_path: Path) -> None:
    run = night_at(tmp_path / "run", 0)
    whole = p50_of(run)
    shutil.copytree(run, tmp_path / "bare")
    (tmp_path / "bare" / FULL_TABLE).unlink()
    assert p50_of(tmp_path / "bare") == whole
    shutil.rmtree(run / "samples")
    assert p50_of(run) == whole, "a whole table needs no samples"


@pytest.mark.parametrize("fault", ["older", "another version", "lacks a case", "damaged"])
def test_a_table_that_is_not_whole_is_not_believed(tmp_path: Path, fault: str) -> None:
    run = night_at(tmp_path / "run", 0)
    right = p50_of(run)
    with_cell(run, repr(right), "1.0")
    assert p50_of(run) == 1.0
    if fault == "older":
        os.utime(run / FULL_TABLE, (1.0, 1.0))
    elif fault == "another version":
        with_cell(run, "latency_p50_us", "latency_median_us")
    elif fault == "damaged":
        with_cell(run, "testhost", '"' + "x" * 200_000)
    else:
        with_cell(run, CASE.case_id, "0" * 12)
    assert p50_of(run) == right


def test_a_run_that_is_being_measured_is_left_for_later(tmp_path: Path) -> None:
    night_at(tmp_path / "done", 0)
    with RunFolder.create(tmp_path / "now", manifest_of((CASE,))) as folder:
        folder.begin(ENVIRONMENT)
        runs, passed_over = past_runs(tmp_path)
    assert [run.path.name for run in runs] == ["done"]
    (entry,) = passed_over
    assert entry.reason == f"{tmp_path / 'now'} is being measured: look again when it has ended"
    assert not entry.damaged


def test_runs_are_in_order_of_time_wherever_they_lie(tmp_path: Path) -> None:
    night_at(tmp_path / "a" / "deep" / "down", 2)
    night_at(tmp_path / "b", 0)
    night_at(tmp_path / "c" / "d", 1)
    runs, _ = past_runs(tmp_path)
    assert [run.created_at_utc[:10] for run in runs] == ["2026-03-01", "2026-03-02", "2026-03-03"]


def test_a_wrong_row_is_no_point_of_its_series(tmp_path: Path) -> None:
    nights_at(tmp_path, [1.0] * 3)
    with RunFolder.create(tmp_path / "wrong", manifest_of((CASE,))) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(2):
            record(folder, CASE, number, [5.0] * 50, "wrong_output", reason="it is off")
    history = read_history(tmp_path)
    assert len(history.runs) == 4
    assert {len(trend.points) for trend in history.trends} == {3}


def test_no_runs_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="has no run folder that can be read"):
        past_runs(tmp_path)
