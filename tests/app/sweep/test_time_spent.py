"""What a run says that it spent its time on: everything, once, by runtime."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.run_folder.folder import RunFolder
from app.run_folder.run import time_parts
from app.runs.reader import read_run
from app.sweep.run_creation import create_run
from tests.app.cli.headless.batch import run as batch
from tests.app.sweep.sweeps import run_to_end, small_plan

pytestmark = pytest.mark.usefixtures("brief")


def test_the_parts_are_all_of_the_time_each_of_the_runtime_that_it_is_of(tmp_path: Path) -> None:
    plan = small_plan(tmp_path, {"runtimes": ["ort-cpu", "fake"]}, rounds=2, cold_start=1)
    started_before_s = 5.0
    begun_s = time.monotonic() - started_before_s
    run_to_end(create_run(plan, tmp_path / "run"), start_s=begun_s)
    times = time_parts(read_run(tmp_path / "run"))
    assert times is not None
    assert times.total_s <= time.monotonic() - begun_s, "none is counted twice"
    by_name = {part.activity: part for part in times.parts}
    assert by_name["start"].seconds >= started_before_s
    assert set(times.runtimes) == {"fake", "ort-cpu"}
    for name in ("process start", "compile", "warm-up", "measurement"):
        part = by_name[name]
        assert part.by_runtime.keys() == {"fake", "ort-cpu"}, name
        assert sum(part.by_runtime.values()) == pytest.approx(part.seconds)
    assert not by_name["export and references"].by_runtime
    assert by_name["cold start"].seconds > 0
    rounds = read_run(tmp_path / "run").rounds.values()
    measured_s = sum(result.duration_s for results in rounds for result in results.values())
    assert by_name["measurement"].seconds >= 0.5 * measured_s


def test_a_run_that_was_measured_in_two_goes_adds_both_and_shows_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    create_run(small_plan(tmp_path), run).close()
    code, output, _ = batch("show", str(run), "--time")
    assert code == 0 and "measurement" not in output
    run_to_end(RunFolder.reopen(run))
    once = time_parts(read_run(run))
    run_to_end(RunFolder.reopen(run), start_s=time.monotonic() - 3.0)
    twice = time_parts(read_run(run))
    assert once is not None and twice is not None
    assert twice.total_s >= once.total_s + 3.0
    code, output, _ = batch("show", str(run), "--time")
    assert code == 0 and "measurement" in output and "fake" in output
