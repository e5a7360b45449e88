"""The progress of a run: its lines, and figures from provisional to ones that hold."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.round import WARMUP
from app.cases.turns import TURN_SET
from app.cli import headless
from app.cli.headless import SHOW_S, measure
from app.plan.plan import parse_plan
from app.present.console.answer.outcome import RunOutput
from app.present.console.progress import (
    UNCHECKED,
    LiveOrder,
    PlainLog,
    RunningFigure,
    RunningFigures,
    display_for,
)
from app.run_folder.folder import RunFolder
from app.run_folder.run import read_records
from app.sweep.engine import Completed, Event
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from tests.app.cli.headless.batch import Terminal
from tests.app.run_folder.runs import ENVIRONMENT, measured_run
from tests.app.sweep.sweeps import write_add_graph

pytestmark = pytest.mark.usefixtures("brief")


def sweep(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    log: io.StringIO,
    rounds: int = 2,
    code: int = 1,
    width: int = 200,
    **plan_values: object,
) -> str:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    graph = str(write_add_graph(folder / "add.onnx"))
    options = {"fake.fail": ["none", "crash"]}
    grid = {"models": [graph], "runtimes": ["fake"], "options": options, **plan_values}
    plan = parse_plan({"rounds": rounds, "sweeps": [grid]}, "test")
    with create_run(plan, folder / "run") as run:
        assert measure(run, RunOutput(out=io.StringIO(), log=log)) == code
    return log.getvalue()


def test_a_log_has_a_line_for_the_plan_each_export_and_each_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a sweep of a case that is well and one that crashes."""
    said = sweep(tmp_path, monkeypatch, io.StringIO())
    first, second, *lines = said.splitlines()
    assert re.match(r"2 cases, 4 rounds, 4 to measure, about \d+ s, of which exports \d+ s$", first)
    assert second.startswith("results in ") and second.endswith("/run")
    (export_line,) = [line for line in lines if "exported add.onnx" in line]
    assert export_line.startswith("[1/1 exported, ")
    rounds = [line for line in lines if " round " in line]
    assert len(rounds) == 3, "the case that crashed is not tried again"
    assert len([line for line in rounds if line.endswith("fail=crash round 1: crashed")]) == 1
    well = [line for line in rounds if re.search(r"round [12]: ok, [\d,]+ runs, p50 .*µs", line)]
    assert len(well) == 2
    assert rounds[-1].startswith("[4/4, 0 s left]")


def test_a_simulated_case_has_one_line_however_many_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtimes = ["fpga:v80", "fake"]
    said = sweep(
        tmp_path, monkeypatch, io.StringIO(), rounds=3, code=0, runtimes=runtimes, options={}
    )
    lines = [line for line in said.splitlines() if re.search(r"round \d: ok", line)]
    assert [sum(name in line for line in lines) for name in ("fpga:v80", "fake")] == [1, 3]
    assert any(line.startswith("[6/6, ") for line in lines)


def test_a_terminal_shows_the_case_in_flight_and_keeps_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"fake.latency_us": [100.0, 300.0], "fake.fail": ["none", "crash"]}
    terminal_text = sweep(tmp_path, monkeypatch, Terminal(), rounds=5, options=options)
    before, _, after = " ".join(terminal_text.split()).partition("times as fast as")
    assert before.count("round 5") == 0, "who is first is shown before the end"
    assert re.match(r" .*\(\d\.\d+ to \d\.\d+\)", after)
    assert "exporting add.onnx" in terminal_text or "starting" in terminal_text
    assert "measuring add.onnx fake" in terminal_text
    assert "of 20 rounds" in terminal_text
    assert "round 1: ok" not in terminal_text, "what is well is in the bar"
    last = terminal_text.rpartition("measuring add.onnx")[2]
    assert "fail=crash round 1: crashed" in terminal_text
    assert last.count("\x1b[2K") > 1, "the picture is wiped at the end, and the table follows"


def test_a_round_whose_runs_do_not_count_has_no_place_in_the_order(tmp_path: Path) -> None:
    """One that was stopped before its first turn ended, say: it has samples and no turn."""
    cases = [Case("net.onnx", runtime) for runtime in ("ort-cpu", "openvino-cpu")]
    facts = {"facts": {TURN_SET: "1:a"}}
    run = measured_run(tmp_path / "run", *((case, [[5.0, 6.0]], facts) for case in cases))
    order = LiveOrder(0.02)
    for case in cases:
        (result,) = run.rounds_of(case)
        records = read_records(run.samples_path(result)).copy()
        records["phase"] = WARMUP
        run.samples_path(result).write_bytes(records.tobytes())
        assert order.add(run, case, result, 5.0) == ""


def test_a_failed_export_is_shown_once_and_not_again_for_each_of_its_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.onnx").write_text("this is no model")
    models = [str(tmp_path / "text.onnx")]
    terminal_text = sweep(
        tmp_path, monkeypatch, Terminal(), models=models, threads=[1, 2, 3], options={}
    )
    assert terminal_text.count("export of text.onnx: export_failed") == 1
    assert "round 1: export_failed" not in terminal_text


def new_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, scenario: str = "closed_loop", **options: object
) -> RunFolder:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    graph = str(write_add_graph(folder / "add.onnx"))
    grid = {
        "models": [graph],
        "runtimes": ["fake"],
        "options": {"fake.latency_us": [3000], "fake.wait": ["sleep"]} | options,
    }
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


def test_what_follows_is_not_kept_waiting_by_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    class Stepping(SweepRun):
        def step(self, timeout_s: float) -> list[Event]:
            done.append("step")
            return super().step(timeout_s)

    class Slow(PlainLog):
        def show(self, events: Sequence[Event]) -> None:
            super().show(events)
            done.extend("shown" for _ in events)
            time.sleep(SHOW_S * len(events))

    monkeypatch.setattr(headless, "display_for", Slow)
    two: dict[str, object] = {"fake.latency_us": [200, 300]}
    with new_run(tmp_path, monkeypatch, "closed_loop", **two) as folder:
        output = RunOutput(out=io.StringIO(), log=io.StringIO())
        assert headless.measure(folder, output, make_run=Stepping) == 0
    last = len(done) - done[::-1].index("step")
    assert all(pair != ("shown", "shown") for pair in pairwise(done[:last]))
    assert done.count("shown") > 8, "nothing is left out"


@pytest.mark.parametrize(
    ("scenario", "options"),
    [("closed_loop", {"fake.fail": ["wrong"]}), ("poisson:300/s", {})],
    ids=["wrong outputs", "open loop"],
)
def test_what_may_yet_be_wrong_has_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str, options: dict[str, object]
) -> None:
    """The first requests of an open loop meet no queue: they took less than the round comes to."""
    run_folder = new_run(tmp_path, monkeypatch, scenario, **options)
    with run_folder as folder, SweepRun(folder, ENVIRONMENT) as run:
        figures, missing_parts = RunningFigures(run), []
        while not run.finished:
            missing_parts += [figure.lacks for _, figure in figures.take(run.step(0.1))]
        run.close(0)
    if options:
        assert missing_parts == [(UNCHECKED,)] and not figures.figures
    else:
        assert missing_parts and not any(UNCHECKED in parts for parts in missing_parts)
