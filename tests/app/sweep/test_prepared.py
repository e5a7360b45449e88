"""A worker that is started before it has a job: taken once, replaced if it died, never left."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.machine.child import Worker
from app.runs.reader import read_run
from app.sweep.engine import Completed, Event, Started
from app.sweep.run_creation import create_run
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork
from tests.app.sweep.sweeps import children, run_to_end, small_plan

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


class Watched(ThisMachine):
    """Notes the processes of rounds as they start, and those that rounds are given."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Worker] = []
        self.given: list[Worker] = []
        self.were_apart = True

    def _start_worker(self, kind: str, environment: str = "") -> Worker:
        worker = super()._start_worker(kind, environment)
        if kind == "round":
            self.were_apart &= all(earlier.ended() for earlier in self.started)
            self.started.append(worker)
        return worker

    def start(self, kind: str, *where: Any) -> Worker:
        worker = super().start(kind, *where)
        self.given += [worker] if kind == "round" else []
        return worker


@pytest.mark.usefixtures("brief")
def test_the_next_worker_starts_between_rounds_and_never_beside_one(tmp_path: Path) -> None:
    """It takes time of the cores, which a round has to itself."""
    place, counts, child_pids = Watched(), Counter[type[Event]](), children()

    def react(event: Event, _: object) -> None:
        if isinstance(event, Started | Completed) and isinstance(event.work, RoundWork):
            counts[type(event)] += 1
        if counts[Started] > counts[Completed]:
            assert len(place.started) == counts[Started]

    run_to_end(create_run(small_plan(tmp_path, rounds=3), tmp_path / "run"), place, react)
    assert place.were_apart
    assert len(place.started) == counts[Started] == counts[Completed] == 3, "none in vain"
    assert children() <= child_pids


@pytest.mark.usefixtures("brief")
def test_the_next_of_a_set_starts_beside_one_that_gets_ready(tmp_path: Path) -> None:
    """On another core, before turns begin."""
    place, apart = Watched(), list[int]()
    grid = {"options": {"fake": {"latency_us": [50, 60, 70]}}}

    def react(event: Event, _: object) -> None:
        if isinstance(event, Started) and isinstance(event.work, RoundWork) and event.work.job.seat:
            apart.append(len(place.started) - len(place.given))

    run_to_end(create_run(small_plan(tmp_path, grid), tmp_path / "run"), place, react)
    assert apart == [int(place.has_other_core)] * 2 + [0], "none after the last"


@pytest.mark.usefixtures("brief")
def test_one_process_simulates_all_rounds_of_a_card(tmp_path: Path) -> None:
    """Nothing that it has done before touches a simulated clock."""
    place, grid = Watched(), {"runtimes": ["fpga:v80", "fpga:ia-840f"]}
    run_to_end(create_run(small_plan(tmp_path, grid, rounds=3), tmp_path / "run"), place)
    run = read_run(tmp_path / "run")
    results = [result for case in run.cases for result in run.rounds_of(case)]
    assert [result.status for result in results] == ["ok"] * 6
    pids = {worker.pid for worker in place.given}
    assert len(place.given) == 6 and len(pids) <= 3
    assert sum("compile" in result.phases_ms for result in results) == len(pids)
    assert not any(alive(worker.pid) for worker in place.given)
