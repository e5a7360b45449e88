"""Rounds that are watched from outside: their memory, and counters that move meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.cases.round import RoundResult
from app.cases.telemetry import Reading
from app.machine.telemetry import LOOK_EVERY_S, Rapl, Telemetry
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live
from app.sweep.engine import Engine, Event, ProgressReported
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork
from exporters.types import ExportedModel
from tests.app.machine.counters import package
from tests.app.sweep.sweeps import Given, drive, round_work, script


def only_result(work: RoundWork, command: tuple[str, ...] | None = None) -> RoundResult:
    place = ThisMachine(commands={"round": command} if command else {})
    with Engine(Given([work]), place) as engine:
        (result,) = drive(engine).results
    return result


HOG = """
sys.stdin.readline()
print(json.dumps({"event": "phase", "phase": "compile"}), flush=True)
held = bytearray(400 << 20)
held[::4096] = b"x" * len(held[::4096])
time.sleep(60)
"""


def test_a_process_that_holds_too_much_is_ended_as_out_of_memory(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    job = round_work(model, samples, memory_limit_bytes=200 << 20)
    result = only_result(job, script(tmp_path / "hog.py", HOG))
    assert result.status == "out_of_memory"
    assert "more than 200 MiB of the host's memory in compile" in result.reason


BURST = """
sys.stdin.readline()
result = {"event": "result", "case_id": "c", "round": 0, "status": "ok", "rss_peak_mb": 300.0}
print(json.dumps(result), flush=True)
"""


def test_a_peak_between_two_looks_counts_too(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    command = script(tmp_path / "burst.py", BURST)
    work = round_work(model, samples, memory_limit_bytes=299 << 20)
    assert only_result(work, command).status == "out_of_memory"
    roomy = round_work(model, samples, memory_limit_bytes=301 << 20)
    assert only_result(roomy, command).status == "ok"


@pytest.mark.alone
def test_devices_are_read_ten_times_a_second_while_the_round_runs(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    package(tmp_path / "powercap", 0, 1_000)
    telemetry = Telemetry(rapl=Rapl(tmp_path / "powercap"))
    work, folder = round_work(model, samples, min_s=1.0), Kept()
    start_s = time.monotonic()
    with Engine(Given([work]), ThisMachine(telemetry)) as engine:
        drive(engine, folder.note)
    most = (time.monotonic() - start_s) / LOOK_EVERY_S + 2
    assert 8 <= len(folder.readings) <= most
    times = [reading.time_ns for reading in folder.readings]
    assert times == sorted(times)


class Kept(RunFolder):
    """A run folder that keeps only what the devices told, in memory."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def record_readings(self, case_id: str, number: int, readings: Sequence[Reading]) -> None:
        self.readings += readings

    def note(self, event: Event) -> None:
        if isinstance(event, ProgressReported):
            event.work.on_progress(self, Live())
