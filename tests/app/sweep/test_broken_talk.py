"""What a worker says may be cut, endless or nothing: it costs its round, never the sweep."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from app.cases.round import RoundResult
from app.sweep.engine import Engine
from app.sweep.local_executor import ThisMachine
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import Given, drive, round_work, script

MOST_MIB = 300
"""What the parent may come to hold of what a worker says without an end."""


def told(tmp_path: Path, model: ExportedModel, body: str, limit_s: float = 30.0) -> RoundResult:
    """How a round ends whose worker does what `body` says."""
    command = script(tmp_path / "worker.py", f"sys.stdin.readline()\n{body}")
    (tmp_path / "samples").mkdir()
    work = round_work(model, tmp_path / "samples", time_limit_s=limit_s)
    with Engine(Given([work]), ThisMachine(commands={"round": command})) as engine:
        (result,) = drive(engine).results
    return result


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.exit(0)", "exit code 0"),
        ("""print('{"event": "result", "case_id": "c", "rou', end='', flush=True)""", "exit code"),
        ("""print('{"event": "result", "case_id": 5}', flush=True)""", "exit code 0"),
        ("""os.write(1, b'\\xff\\xfe{{{\\n' * 1000); sys.exit(3)""", "exit code 3"),
        ("os.write(2, b'?' * (1 << 24) + b'\\nout of paper\\n'); sys.exit(7)", "7: out of paper"),
    ],
    ids=["without a word", "cut in a message", "no message of ours", "no text", "megabytes"],
)
def test_a_worker_that_ends_without_its_result_is_told_as_crashed(
    tmp_path: Path, model: ExportedModel, body: str, reason: str
) -> None:
    result = told(tmp_path, model, body)
    assert result.status == "crashed"
    assert reason in result.reason


def test_a_worker_that_closes_its_pipes_and_lives_is_ended_at_the_limit(
    tmp_path: Path, model: ExportedModel
) -> None:
    result = told(tmp_path, model, "os.close(1); os.close(2); time.sleep(600)", limit_s=1.5)
    assert result.status == "timeout"


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_worker_that_writes_without_an_end_neither_fills_nor_holds_up_the_parent(
    tmp_path: Path, model: ExportedModel, descriptor: int
) -> None:
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = f"while True: os.write({descriptor}, b'x' * (1 << 16))"
    start_s = time.monotonic()
    result = told(tmp_path, model, body, limit_s=2.0)
    assert result.status == "timeout", result.reason
    assert time.monotonic() - start_s < 60, "it was heard of its limit while it wrote"
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) / 1024
    assert grown_mib < MOST_MIB
