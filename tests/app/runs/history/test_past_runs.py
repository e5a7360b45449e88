"""What a history takes of runs, and a history whose machine changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.table import NAMES
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import ResultsError
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import FULL_TABLE
from app.runs.history.past_runs import PastRun, past_runs
from app.runs.history.trends import history_of, read_history
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record
from tests.app.runs.history.pasts import night_at, nights_at


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


def test_runs_are_in_order_of_time_wherever_they_lie_but_for_one_being_measured(
    tmp_path: Path,
) -> None:
    with pytest.raises(ResultsError, match="has no run folder that can be read"):
        past_runs(tmp_path)
    for place, number in (("a/deep/down", 2), ("b", 0), ("c/d", 1)):
        night_at(tmp_path / place, number)
    with RunFolder.create(tmp_path / "now", manifest_of((CASE,))) as folder:
        folder.begin(ENVIRONMENT)
        runs, (entry,) = past_runs(tmp_path)
    assert [run.created_at_utc[:10] for run in runs] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert "is being measured" in entry.reason and not entry.damaged


def test_a_wrong_row_is_no_point_of_its_series(tmp_path: Path) -> None:
    nights_at(tmp_path, [1.0] * 3)
    with RunFolder.create(tmp_path / "wrong", manifest_of((CASE,))) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(2):
            record(folder, CASE, number, [5.0] * 50, "wrong_output", reason="it is off")
    history = read_history(tmp_path)
    assert len(history.runs) == 4
    assert {len(trend.points) for trend in history.trends} == {3}


CASES = tuple(Case(f"net{number}", "fake") for number in range(4))


def past_run(number: int, levels: Sequence[float], kernel: str = "6.1") -> PastRun:
    """A run of one case for each level, which have a p50 and no p99."""
    rows: list[tuple[Case, Row]] = []
    for case, level in zip(CASES, levels, strict=False):
        row: Row = dict.fromkeys(NAMES)
        row |= {"status": "ok", "host": "a", "clock": "wall", "rounds": 4, "latency_p50_us": level}
        rows.append((case, row))
    created_at = f"2026-03-{number + 1:02}T02:00:00.000+00:00"
    return PastRun(
        Path(f"run-{number}"), f"{number:012}", created_at,
        {"a": {"cpu": "one", "kernel": kernel}}, tuple(rows),
    )  # fmt: skip


def levels_of(machine: Sequence[float], cases: int, first: Sequence[float] = ()) -> list[PastRun]:
    """Runs in which the machine is so many times as slow, and the first case besides."""
    rng = np.random.default_rng(1)
    runs = []
    for number, slow in enumerate(machine):
        noise = np.exp(0.003 * rng.standard_normal(cases))
        levels = 100.0 * slow * noise
        levels[0] *= first[number] if first else 1.0
        runs.append(past_run(number, levels.tolist(), "6.1" if slow == 1.0 else "6.2"))
    return runs


def test_what_all_cases_share_is_the_machines_and_no_cases() -> None:
    history = history_of(levels_of([1.0] * 8 + [1.1] * 8, 4))
    assert history.trends_with("slower") == []
    (machine,) = history.machines
    (change,) = machine.changes
    assert (change.word, change.run.run_id, machine.series) == ("slower", f"{8:012}", 4)
    assert change.ratio == pytest.approx(1.1, rel=0.01)
    assert change.differs == (("kernel", "6.1", "6.2"),)
    assert history.without_factor == 0


def test_a_case_that_became_slower_on_a_machine_that_did_too_is_called() -> None:
    machine = [1.0] * 6 + [1.1] * 10
    first = [1.0] * 10 + [1.06] * 6
    history = history_of(levels_of(machine, 4, first))
    (trend,) = history.trends_with("slower")
    assert trend.case_id == CASES[0].case_id
    (change,) = trend.changes
    assert change.point.run.run_id == f"{10:012}"
    assert change.ratio == pytest.approx(1.06, rel=0.01)
    assert trend.points[-1].machine / trend.points[0].machine == pytest.approx(1.1, rel=0.01)


def test_of_two_cases_nobody_can_tell_the_machine() -> None:
    history = history_of(levels_of([1.0] * 8 + [1.1] * 8, 2))
    assert history.machines == () and history.without_factor == 2
    assert len(history.trends_with("slower")) == 2
