"""A worker that is started before it has a job: taken once, replaced if it died, never left."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.machine.child import Worker
from app.plan.plan import parse_plan
from app.sweep.engine import Completed, Started
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork
from tests.app.run_folder.runs import ENVIRONMENT
from tests.app.sweep.sweeps import children, write_add_graph

WAITS = (sys.executable, "-c", "input()")


def alive(pid: int | None) -> bool:
    return pid is not None and psutil.pid_exists(pid)


def test_a_prepared_worker_is_taken_once_and_closed_with_the_place() -> None:
    child_pids = children()
    with ThisMachine(commands={"round": WAITS}) as place:
        place.prepare("round")
        place.prepare("round")
        (prepared_pid,) = children() - child_pids
        first, second = place.start("round"), place.start("round")
        assert first.pid == prepared_pid != second.pid
        place.prepare("round")
        left = children() - child_pids - {first.pid, second.pid}
        first.close()
        second.close()
    assert len(left) == 1 and not any(map(alive, left))


def test_a_prepared_worker_that_died_is_replaced() -> None:
    child_pids = children()
    with ThisMachine(commands={"round": WAITS}) as place:
        place.prepare("round")
        (pid,) = children() - child_pids
        prepared_process = psutil.Process(pid)
        prepared_process.kill()
        while prepared_process.status() != psutil.STATUS_ZOMBIE:
            pass
        worker = place.start("round")
        assert worker.pid != pid and not worker.ended()
        worker.close()


@pytest.mark.usefixtures("brief")
def test_the_next_worker_starts_between_rounds_and_never_beside_one(tmp_path: Path) -> None:
    """It takes time of the cores, which a round has to itself."""
    workers: list[Worker] = []

    class Watched(ThisMachine):
        def _start_worker(self, kind: str, environment: str = "") -> Worker:
            worker = super()._start_worker(kind, environment)
            if kind == "round":
                assert all(earlier.ended() for earlier in workers)
                workers.append(worker)
            return worker

    graph = str(write_add_graph(tmp_path / "add.onnx"))
    plan = parse_plan({"rounds": 3, "sweeps": [{"models": [graph], "runtimes": ["fake"]}]}, "test")
    round_starts, round_ends, child_pids = 0, 0, children()
    with (
        create_run(plan, tmp_path / "run") as folder,
        SweepRun(folder, ENVIRONMENT, place=Watched()) as run,
    ):
        while not run.finished:
            for event in run.step(0.1):
                round_starts += isinstance(event, Started) and isinstance(event.work, RoundWork)
                round_ends += isinstance(event, Completed) and isinstance(event.work, RoundWork)
                if round_starts > round_ends:
                    assert len(workers) == round_starts
        run.close(0)
    assert len(workers) == round_starts == round_ends == 3, "none is started in vain"
    assert children() <= child_pids


@pytest.mark.usefixtures("brief")
def test_one_process_simulates_all_rounds_of_a_card(tmp_path: Path) -> None:
    """Nothing that it has done before touches a simulated clock."""
    workers: list[Worker] = []

    class Watched(ThisMachine):
        def start(self, kind: str, *where: Any) -> Worker:
            worker = super().start(kind, *where)
            if kind == "round":
                workers.append(worker)
            return worker

    graph = str(write_add_graph(tmp_path / "add.onnx"))
    grid = {"models": [graph], "runtimes": ["fpga:v80", "fpga:ia-840f"]}
    plan = parse_plan({"rounds": 3, "sweeps": [grid]}, "test")
    results = {}
    with (
        create_run(plan, tmp_path / "run") as folder,
        SweepRun(folder, ENVIRONMENT, place=Watched()) as run,
    ):
        while not run.finished:
            for event in run.step(0.1):
                if isinstance(event, Completed) and isinstance(event.work, RoundWork):
                    assert event.work.result is not None
                    results[event.work.case.runtime, event.work.job.round] = event.work.result
    assert {result.status for result in results.values()} == {"ok"} and len(results) == 6
    pids = {worker.pid for worker in workers}
    assert len(workers) == 6 and len(pids) <= 3
    assert sum("compile" in result.phases_ms for result in results.values()) == len(pids)
    assert not any(alive(worker.pid) for worker in workers)
