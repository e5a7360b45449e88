"""What a run says that it spent its time on: everything, once, by runtime."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.plan.plan import parse_plan
from app.run_folder.folder import RunFolder
from app.run_folder.run import time_parts
from app.runs.reader import read_run
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from tests.app.cli.headless.batch import run as batch
from tests.app.run_folder.runs import ENVIRONMENT
from tests.app.sweep.sweeps import write_add_graph

pytestmark = pytest.mark.usefixtures("brief")


def measure(folder: RunFolder, begun_s: float | None = None) -> float:
    """All that the folder lacks; returns the seconds from `begun_s` to the end."""
    begun_s = time.monotonic() if begun_s is None else begun_s
    with SweepRun(folder, ENVIRONMENT, start_s=begun_s) as run:
        while not run.finished:
            run.step(0.1)
        run.close(0)
        return time.monotonic() - begun_s


def test_the_parts_are_all_of_the_time_each_of_the_runtime_that_it_is_of(tmp_path: Path) -> None:
    graph = str(write_add_graph(tmp_path / "add.onnx"))
    grid = {"models": [graph], "runtimes": ["ort-cpu", "fake"]}
    plan = parse_plan({"rounds": 2, "cold_start": 1, "sweeps": [grid]}, "test")
    with create_run(plan, tmp_path / "run") as folder:
        started_before_s = 5.0
        seconds = measure(folder, time.monotonic() - started_before_s)
    times = time_parts(read_run(tmp_path / "run"))
    assert times is not None
    assert times.total_s <= seconds, "none is counted twice"
    by_name = {part.activity: part for part in times.parts}
    assert by_name["start"].seconds >= started_before_s
    assert set(times.runtimes) == {"fake", "ort-cpu"}
    for name in ("process start", "compile", "warm-up", "measurement"):
        part = by_name[name]
        assert part.by_runtime.keys() == {"fake", "ort-cpu"}, name
        assert sum(part.by_runtime.values()) == pytest.approx(part.seconds)
    assert not by_name["export and references"].by_runtime
    assert by_name["cold start"].seconds > 0
    measured_s = sum(
        result.duration_s
        for rounds in read_run(tmp_path / "run").rounds.values()
        for result in rounds.values()
    )
    assert by_name["measurement"].seconds >= 0.5 * measured_s


def test_a_run_that_was_measured_in_two_goes_adds_both_and_shows_them(tmp_path: Path) -> None:
    graph = str(write_add_graph(tmp_path / "add.onnx"))
    out = str(tmp_path / "run")
    plan = parse_plan({"rounds": 1, "sweeps": [{"models": [graph], "runtimes": ["fake"]}]}, "test")
    with create_run(plan, tmp_path / "run") as folder:
        code, output, _ = batch("show", out, "--time")
        assert code == 0 and "measurement" not in output
        measure(folder)
    once = time_parts(read_run(tmp_path / "run"))
    with RunFolder.reopen(tmp_path / "run") as again:
        measure(again, time.monotonic() - 3.0)
    twice = time_parts(read_run(tmp_path / "run"))
    assert once is not None and twice is not None
    assert twice.total_s >= once.total_s + 3.0
    code, output, _ = batch("show", out, "--time")
    assert code == 0 and "measurement" in output and "fake" in output
