"""A run within a budget: first a round of each case, then more, and honest about the rest."""

from __future__ import annotations

import io
import shlex
import time
from functools import partial
from pathlib import Path

import pytest

from app.headless import measure
from app.plan.command import graphlap_line
from app.plan.plan import parse_plan
from app.runs.reader import read_run
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling import round_budget
from app.sweep.scheduling.round_budget import Budget
from tests.app.headless.batch import rows
from tests.app.sweep.sweeps import write_add_graph


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(round_budget, "time", clock)
    return clock


def test_a_round_is_begun_if_it_is_likely_to_end_in_time(clock: Clock) -> None:
    budget = Budget(10.0)
    assert budget.round_fits("a", guess_s=3.0)
    budget.learn("a", 4.0)
    budget.learn("b", 8.0)
    clock.now_s += 3.0
    assert budget.left_s == 7.0
    assert budget.round_fits("a", guess_s=3.0)
    assert not budget.round_fits("b", guess_s=3.0)
    assert budget.round_fits("c", guess_s=99.0), "as long as the others took: 6 s"
    budget.learn("a", 7.5)
    budget.learn("a", 4.0)
    assert not budget.round_fits("a", guess_s=3.0), "a round took 7.5 s, and another may"
    clock.now_s += 8.0
    assert budget.left_s == 0.0


def test_what_was_before_the_first_round_counts(clock: Clock) -> None:
    budget = Budget(10.0, start_s=clock.now_s - 8.0)
    assert budget.left_s == 2.0
    assert not budget.export_fits
    assert not budget.round_fits("a", guess_s=3.0)


def test_a_command_that_took_its_budget_to_start_begins_no_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_s = time.monotonic() - 100.0
    code, _ = run_of(tmp_path, monkeypatch, start_s=start_s, budget_s=50.0)
    assert code == 1
    assert statuses(tmp_path) == {"not_run"}


def test_exports_leave_half_of_the_time_to_rounds(clock: Clock) -> None:
    budget = Budget(10.0)
    assert budget.export_fits
    clock.now_s += 5.5
    assert not budget.export_fits
    assert Budget().export_fits
    assert Budget().round_fits("a", 1e9)


def test_rounds_leave_time_to_what_comes_after_them(clock: Clock) -> None:
    budget = Budget(100.0)
    budget.learn("a", 5.0)
    budget.reserve(4.0)
    clock.now_s += 90.0
    assert budget.round_fits("a", guess_s=1.0)
    budget.reserve(1000.0)
    assert not budget.round_fits("a", guess_s=1.0), "a quarter of it is kept"
    assert budget.left_s == 10.0, "and is there for what comes after"
    clock.now_s -= 20.0
    assert budget.round_fits("a", guess_s=1.0)
    endless = Budget()
    endless.reserve(1000.0)
    assert endless.round_fits("a", guess_s=1e9)


def run_of(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    start_s: float | None = None,
    **values: object,
) -> tuple[int, str]:
    """Exit code and what is printed of eight cases of about a second a round."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
    grid = {
        "models": [str(write_add_graph(folder / "add.onnx"))],
        "runtimes": ["fake"],
        "options": {"fake.latency_us": [10.0 * n for n in range(1, 5)]},
    }
    out = io.StringIO()
    with create_run(parse_plan({"sweeps": [grid], **values}, "the plan"), folder / "run") as run:
        make_run = partial(SweepRun, start_s=start_s)
        return measure(run, make_run=make_run, out=out, log=io.StringIO()), out.getvalue()


@pytest.mark.alone
def test_every_case_has_its_first_round_before_any_has_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = run_of(tmp_path, monkeypatch, rounds=50, budget_s=8)
    counts = {len(rounds) for rounds in read_run(tmp_path / "run").rounds.values()}
    assert len(read_run(tmp_path / "run").rounds) == 4
    assert max(counts) - min(counts) <= 1
    assert 1 <= min(counts) <= max(counts) < 50
    assert code == 0, "each case has a row with a number"
    assert "rounds that this run lacks" in out
    assert graphlap_line("resume", str(tmp_path / "run")) in out


def test_what_was_not_come_to_is_said_and_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder; with more than one word in its name, and longer than a line"
    folder.mkdir()
    code, out = run_of(folder, monkeypatch, rounds=1, budget_s=1e-9)
    assert code == 1
    assert "the 4 rounds that this run lacks" in out
    assert statuses(folder) == {"not_run"}
    (line,) = (line for line in out.splitlines() if " resume '" in line)
    assert shlex.split(line)[-2:] == ["resume", str(folder / "run")], "to be pasted"


def statuses(folder: Path) -> set[str]:
    return {row["status"] for row in rows(folder / "run")}
