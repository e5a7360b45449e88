"""What is said while a real sweep runs: a line for each step in a log, a picture on a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from app.console.progress import LiveDisplay
from app.headless import measure
from app.plan.plan import parse_plan
from app.sweep.engine import Paused
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from tests.app.run_folder.runs import ENVIRONMENT, record
from tests.app.sweep.sweeps import write_add_graph

pytestmark = pytest.mark.usefixtures("brief")


WIDTH = "200"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a log holds after a sweep of a case that is well and one that crashes."""
    return sweep(tmp_path, monkeypatch, io.StringIO())


def sweep(
    folder: Path, monkeypatch: pytest.MonkeyPatch, log: io.StringIO, **plan_values: object
) -> str:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(folder / "cache"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", WIDTH)
    graph = str(write_add_graph(folder / "add.onnx"))
    options = {"fake.fail": ["none", "crash"]}
    grid = {"models": [graph], "runtimes": ["fake"], "options": options, **plan_values}
    plan = parse_plan({"rounds": 2, "sweeps": [grid]}, "test")
    with create_run(plan, folder / "run") as run:
        assert measure(run, out=io.StringIO(), log=log) == 1
    return log.getvalue()


def test_a_log_has_a_line_for_the_plan_each_export_and_each_round(said: str) -> None:
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


def test_a_round_of_a_log_of_eighty_columns_is_no_wider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.app.console.test_progress.WIDTH", "80")
    options = {"fake.latency_us": [100.0], "fake.fail": ["none", "crash"]}
    log = sweep(tmp_path, monkeypatch, io.StringIO(), options=options)
    rounds = [line for line in log.splitlines() if not line.startswith("results in ")]
    assert max(map(len, rounds)) <= 80
    assert "round 1: ok" in " ".join(log.split()) and "p50 " in log


def test_a_terminal_shows_the_case_in_flight_and_keeps_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal_text = sweep(tmp_path, monkeypatch, Terminal())
    assert "exporting add.onnx" in terminal_text or "starting" in terminal_text
    assert "measuring add.onnx fake" in terminal_text
    assert "of 4 rounds" in terminal_text
    assert "round 1: ok" not in terminal_text, "what is well is in the bar"
    last = terminal_text.rpartition("measuring add.onnx")[2]
    assert "fail=crash round 1: crashed" in terminal_text
    assert last.count("\x1b[2K") > 1, "the picture is wiped at the end, and the table follows"


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


def test_the_case_in_flight_says_what_its_p99_lacks_over_all_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    plan = parse_plan({"sweeps": [{"models": ["mlp"], "runtimes": ["fake"]}]}, "test")
    with create_run(plan, tmp_path / "run") as folder:
        (case,) = folder.manifest.cases
        record(folder, case, 0, [50.0] * 200)
        with SweepRun(folder, ENVIRONMENT) as run:
            run.live.show(case.case_id, 1, "measure")
            run.live.iterations = 100
            terminal = Terminal()
            display = LiveDisplay(run, terminal)
            display.show([Paused()])
            display.close()
    assert "p99 needs 68 samples" in terminal.getvalue()
