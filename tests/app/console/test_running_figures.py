"""The figures of a run that goes on: from provisional to one that holds, in the order of events."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from app.console.progress import UNCHECKED, RunningFigure, RunningFigures, display_for
from app.plan.plan import parse_plan
from app.run_folder.folder import RunFolder
from app.sweep.engine import Completed
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from tests.app.run_folder.runs import ENVIRONMENT
from tests.app.sweep.sweeps import write_add_graph

SLEEPING = {"fake.latency_us": [3000], "fake.wait": ["sleep"]}


def new_run(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    scenario: str = "closed_loop",
    **options: object,
) -> RunFolder:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    graph = str(write_add_graph(folder / "add.onnx"))
    grid = {"models": [graph], "runtimes": ["fake"], "options": SLEEPING | options}
    grid["scenarios"] = [scenario]
    return create_run(parse_plan({"rounds": 4, "sweeps": [grid]}, "test"), folder / "run")


def test_a_figure_is_provisional_until_its_outputs_are_checked_and_rounds_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = io.StringIO()
    states: list[tuple[int, RunningFigure]] = []
    with new_run(tmp_path, monkeypatch) as folder, SweepRun(folder, ENVIRONMENT) as run:
        display, figures = display_for(run, log), RunningFigures(run)
        rounds = 0
        while not run.finished:
            events = run.step(0.1)
            display.show(events)
            rounds += sum(
                isinstance(event, Completed) and event.work.kind == "round" for event in events
            )
            states += [(rounds, figure) for _, figure in figures.take(events)]
        run.close(0)
        (row,) = run.rows()
    (none, first), (one_round, checked_figure), (three, interval), *_ = states
    assert (none, one_round, three) == (0, 1, 3)
    assert first.lacks == (UNCHECKED,) and first.interval_us is None
    assert checked_figure.lacks == ("1 of 4 rounds",) and checked_figure.interval_us is None
    assert interval.interval_us is not None and interval.lacks[0] == "3 of 4 rounds"
    (last,) = figures.figures.values()
    assert last.p50_us == row["latency_p50_us"]
    assert len(last.lacks) == 1, "all rounds are there, and within a minute"
    lines = log.getvalue().splitlines()
    order = [
        next(number for number, line in enumerate(lines) if part in line)
        for part in (first.text(), "round 1: ok", "round 3: ok", interval.text())
    ]
    assert order == sorted(order)
    assert sum(UNCHECKED in line for line in lines) == 1


def all_of(run: SweepRun) -> tuple[RunningFigures, list[tuple[str, ...]]]:
    """The figures of a run that has gone on to its end, and what each of them lacked."""
    figures = RunningFigures(run)
    missing_parts = []
    while not run.finished:
        missing_parts += [figure.lacks for _, figure in figures.take(run.step(0.1))]
    run.close(0)
    return figures, missing_parts


def test_a_case_with_wrong_outputs_has_no_figure_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"fake.fail": ["wrong"]}
    with (
        new_run(tmp_path, monkeypatch, "closed_loop", **options) as folder,
        SweepRun(folder, ENVIRONMENT) as run,
    ):
        figures, missing_parts = all_of(run)
    assert missing_parts == [(UNCHECKED,)]
    assert not figures.figures


def test_an_open_loop_has_no_figure_before_its_queue_has_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of its requests meet no queue, so what they took is not what the round comes to."""
    with (
        new_run(tmp_path, monkeypatch, "poisson:300/s") as folder,
        SweepRun(folder, ENVIRONMENT) as run,
    ):
        _, missing_parts = all_of(run)
    assert missing_parts and not any(UNCHECKED in parts for parts in missing_parts)
