"""The first round of a user's file is measured before its references are there, and checked after.

What is recorded is what a round after the whole export would have left.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from app.analysis.columns.rows import Rows
from app.runs.reader import read_run
from app.sweep.engine import Completed, Dropped, Event, Paused, Started
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling.run_scheduler import build_scheduler
from tests.app.sweep.sweeps import run_to_end, small_plan
from tests.exporters.support import model_of

pytestmark = pytest.mark.usefixtures("brief")


def events_of(folder: Path, pauses: bool = False) -> list[Event]:
    """Those of a sweep whose run folder is `folder / "run"`; it is resumed after each pause."""
    events: list[Event] = []

    def react(event: Event, run: SweepRun) -> None:
        has_paused = any(isinstance(earlier, Paused) for earlier in events)
        if pauses and isinstance(event, Started) and event.work.kind == "round" and not has_paused:
            run.pause()
        if isinstance(event, Paused):
            run.resume()
        events.append(event)

    plan = small_plan(folder, {"runtimes": ["ort-cpu"]}, rounds=2)
    run_to_end(create_run(plan, folder / "run"), react=react)
    return events


def test_a_pause_while_the_round_awaits_its_references_comes_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    events = list(events_of(tmp_path, pauses=True))
    assert len([event for event in events if isinstance(event, Paused)]) == 1
    run = read_run(tmp_path / "run")
    (case,) = run.cases
    assert [result.status for result in run.rounds_of(case)] == ["ok", "ok"]
    assert all(result.check for result in run.rounds_of(case))


@pytest.mark.parametrize(
    ("grid", "plan"),
    [
        ({"runtimes": ["fake"]}, {}),
        ({"scenarios": ["poisson:500/s"]}, {}),
        ({}, {"checked": False}),
        ({}, {"budget_s": 60.0}),
        ({}, {"memory_limit": "2GiB"}),
    ],
)
def test_what_another_order_could_change_is_exported_whole_first(
    tmp_path: Path, grid: dict[str, object], plan: dict[str, object]
) -> None:
    asked = small_plan(tmp_path, {"runtimes": ["ort-cpu"], **grid}, **plan)
    with create_run(asked, tmp_path / "run") as folder:
        rounds = build_scheduler(folder, read_run(folder.path), Rows())
    first = rounds.next([])
    assert first is not None
    assert first.kind == "export"


def write_unfit(path: Path) -> None:
    """A graph that reads beyond the end of its input, which shows when it runs."""
    text = "(float[2,3] x) => (float[2,1] y) { y = Gather <axis = 1> (x, index) }"
    onnx.save(model_of(text, {"index": np.array([7])}), path)


def test_the_first_round_is_measured_before_the_references_and_ends_after_them(
    tmp_path: Path,
) -> None:
    order = [
        f"{event.work.kind} {'starts' if isinstance(event, Started) else 'ends'}"
        for event in events_of(tmp_path)
        if isinstance(event, Started | Completed | Dropped)
    ]
    draft, nested = ["draft starts", "draft ends"], ["export starts", "export ends"]
    second = ["round starts", "round ends"]
    assert order == [*draft, "round starts", *nested, "round ends", *second]
    run = read_run(tmp_path / "run")
    (case,) = run.cases
    first, second_result = run.rounds_of(case)
    assert first.status == second_result.status == "ok"
    assert first.check == second_result.check is not None, "as if it had been checked at once"
    assert first.model_sha256 == second_result.model_sha256
    assert len(run.models) == 1, "the draft is not recorded"


def test_a_graph_that_no_reference_can_be_computed_of_is_tried_by_its_engine(
    tmp_path: Path,
) -> None:
    """The round of the draft is dropped, and the engine's own status is recorded, once."""
    write_unfit(tmp_path / "add.onnx")
    events = list(events_of(tmp_path))
    dropped_work = [event.work for event in events if isinstance(event, Dropped)]
    assert [work.kind for work in dropped_work] == ["round"]
    run = read_run(tmp_path / "run")
    (case,) = run.cases
    (result,) = run.rounds_of(case)
    assert result.status in ("run_failed", "compile_failed")
    assert not any((tmp_path / "run" / "samples").iterdir())
