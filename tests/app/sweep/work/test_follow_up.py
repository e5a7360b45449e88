"""Accuracies, cold starts and operator times whose process ends without a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.cases.jobs import (
    AccuracyJob,
    AccuracyResult,
    ColdStart,
    ColdStartJob,
    OperatorJob,
    OperatorTimes,
    cold_start_subject_of,
)
from app.machine.telemetry import Telemetry
from app.sweep.engine import Engine
from app.sweep.local_executor import ThisMachine
from app.sweep.work.base import EXCLUSIVE_CPU
from app.sweep.work.follow_ups import AccuracyWork, ColdStartWork, OperatorWork
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import Given, drive, fake_case, script

FollowUp = AccuracyWork | ColdStartWork | OperatorWork
Make = Callable[[ExportedModel, float, int], FollowUp]
CASE = fake_case()


def accuracy(model: ExportedModel, time_limit_s: float, memory_limit_bytes: int) -> FollowUp:
    job = AccuracyJob(CASE, model, "data.npz")
    return AccuracyWork(job, CASE.case_id, time_limit_s, memory_limit_bytes)


def cold_start(model: ExportedModel, time_limit_s: float, memory_limit_bytes: int) -> FollowUp:
    job = ColdStartJob(cold_start_subject_of(CASE), 0, model, begun_ns=0)
    return ColdStartWork(job, time_limit_s, EXCLUSIVE_CPU, memory_limit_bytes)


def operators(model: ExportedModel, time_limit_s: float, memory_limit_bytes: int) -> FollowUp:
    return OperatorWork(OperatorJob(CASE, model), time_limit_s, memory_limit_bytes)


EACH = pytest.mark.parametrize("make", [accuracy, cold_start, operators])


def result_of(
    work: FollowUp, command: tuple[str, ...]
) -> AccuracyResult | ColdStart | OperatorTimes:
    place = ThisMachine(Telemetry(), {work.kind: command})
    with Engine(Given([work]), place) as engine:
        drive(engine)
    assert work.result is not None
    return work.result


@EACH
@pytest.mark.parametrize(
    ("body", "transient"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", True),
        ("os.kill(os.getpid(), signal.SIGTERM)", True),
        ("os.kill(os.getpid(), signal.SIGSEGV)", False),
        ("sys.exit(3)", False),
    ],
)
def test_a_process_that_was_ended_from_outside_is_tried_again(
    make: Make, body: str, transient: bool, tmp_path: Path, model: ExportedModel
) -> None:
    result = result_of(make(model, 60.0, 0), script(tmp_path / "end.py", body))
    assert result.reason
    assert result.transient is transient


@EACH
def test_one_that_takes_too_long_is_tried_again(
    make: Make, tmp_path: Path, model: ExportedModel
) -> None:
    result = result_of(make(model, 0.3, 0), script(tmp_path / "hang.py", "time.sleep(600)"))
    assert result.reason
    assert result.transient


@EACH
def test_one_whose_program_cannot_be_started_is_tried_again(
    make: Make, tmp_path: Path, model: ExportedModel
) -> None:
    result = result_of(make(model, 60.0, 0), (str(tmp_path / "nothing"),))
    assert result.reason
    assert result.transient


HOG = """
sys.stdin.readline()
held = bytearray(400 << 20)
held[::4096] = b"x" * len(held[::4096])
time.sleep(600)
"""
BURST = """
sys.stdin.readline()
print(json.dumps({"event": "result", "rss_peak_mb": 300.0, **RESULT}), flush=True)
"""
RESULTS = {
    "accuracy": {"subject": "s", "data": "d", "top1": 0.5},
    "cold_start": {"subject": "s", "process": 0},
    "operators": {"case_id": "c"},
}


@EACH
def test_one_that_holds_too_much_memory_is_ended_for_good(
    make: Make, tmp_path: Path, model: ExportedModel
) -> None:
    result = result_of(make(model, 60.0, 200 << 20), script(tmp_path / "hog.py", HOG))
    assert "--memory-limit" in result.reason
    assert not result.transient


@EACH
def test_a_peak_of_memory_between_two_looks_counts_too(
    make: Make, tmp_path: Path, model: ExportedModel
) -> None:
    work_limited = make(model, 60.0, 299 << 20)
    command = script(tmp_path / "burst.py", f"RESULT = {RESULTS[work_limited.kind]}\n{BURST}")
    assert "--memory-limit" in result_of(work_limited, command).reason
    assert not result_of(make(model, 60.0, 301 << 20), command).reason
