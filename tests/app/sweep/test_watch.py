"""Rounds that are watched from outside: their memory, and counters that move meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.round import RoundResult
from app.machine.telemetry import LOOK_EVERY_S, Rapl, Telemetry
from app.sweep.engine import Engine
from app.sweep.events import RoundFinished, RoundReadings
from app.sweep.jobs import RoundJob
from exporters.types import ExportedModel
from tests.app.machine.test_telemetry import package
from tests.app.sweep.sweeps import drive, exported_add
from tests.app.sweep.test_engine import Rounds, round_job, script


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    folder = tmp_path / "samples"
    folder.mkdir()
    return folder


def only_result(job: RoundJob, command: tuple[str, ...] | None = None) -> RoundResult:
    with Engine(Rounds([job]), **({"measure_command": command} if command else {})) as engine:
        (event,) = drive(engine).of(RoundFinished)
    assert isinstance(event, RoundFinished)
    return event.result


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
    job = replace(round_job(model, samples), memory_limit_bytes=200 << 20)
    result = only_result(job, script(tmp_path / "hog.py", HOG))
    assert result.status == "out_of_memory"
    assert "more than 200 MiB in compile" in result.reason


BURST = """
sys.stdin.readline()
result = {"event": "result", "case_id": "c", "round": 0, "status": "ok", "rss_peak_mb": 300.0}
print(json.dumps(result), flush=True)
"""


def test_a_peak_between_two_looks_counts_too(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    job = round_job(model, samples)
    command = script(tmp_path / "burst.py", BURST)
    limited = replace(job, memory_limit_bytes=299 << 20)
    assert only_result(limited, command).status == "out_of_memory"
    assert only_result(replace(job, memory_limit_bytes=301 << 20), command).status == "ok"


def test_without_a_limit_nothing_is_too_large(model: ExportedModel, samples: Path) -> None:
    assert only_result(round_job(model, samples)).status == "ok"


def test_devices_are_read_ten_times_a_second_while_the_round_runs(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    package(tmp_path / "powercap", 0, 1_000)
    telemetry = Telemetry(rapl=Rapl(tmp_path / "powercap"))
    job = round_job(model, samples, min_s=1.0)
    with Engine(Rounds([job]), telemetry=telemetry) as engine:
        heard = drive(engine)
    readings = [r for e in heard.events if isinstance(e, RoundReadings) for r in e.readings]
    (finished,) = heard.of(RoundFinished)
    assert isinstance(finished, RoundFinished)
    most = finished.seconds / LOOK_EVERY_S + 2
    assert 8 <= len(readings) <= most
    times = [reading.time_ns for reading in readings]
    assert times == sorted(times)


def test_a_machine_that_tells_nothing_costs_no_look(model: ExportedModel, samples: Path) -> None:
    with Engine(Rounds([round_job(model, samples)])) as engine:
        assert not drive(engine).of(RoundReadings)
