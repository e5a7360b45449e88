"""What circumstances made fail is tried again by a resume; what a model made fail is not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from app.runs.reader import read_run
from app.sweep.scheduling import grid
from tests.app.headless.batch import FAKE, SLEEPING, launch, rows, run
from tests.exporters.support import save_affine

ONE = ("--rounds", "1", "--out", "run")


def _status(work: Path) -> str:
    (row,) = rows(work / "run")
    return row["status"]


def test_a_file_that_is_missing_for_a_while_costs_its_case_nothing(work: Path) -> None:
    """What a factory reads is known to nobody but itself."""
    body = "import pathlib\n\n\ndef build():\n    pathlib.Path('data').read_text()\n"
    body += "    import torch\n    return torch.nn.Linear(2, 2), {'x': torch.ones(1, 2)}\n"
    (work / "net.py").write_text(body)
    assert run("--headless", "--models", "net.py:build", *FAKE, *ONE)[0] == 1
    assert _status(work) == "export_failed"
    (work / "data").write_text("here again")
    assert run("resume", "run")[0] == 0
    assert _status(work) == "ok"
    assert read_run(work / "run").rounds


def test_a_model_that_can_not_be_exported_stays_ended(work: Path) -> None:
    body = "def build():\n    raise ValueError('no such net')\n"
    (work / "net.py").write_text(body)
    assert run("--headless", "--models", "net.py:build", *FAKE, *ONE)[0] == 1
    mtime_ns = (work / "run" / "samples").stat().st_mtime_ns
    code, _, log = run("resume", "run")
    assert code == 1
    assert "0 to measure" in log
    assert (work / "run" / "samples").stat().st_mtime_ns == mtime_ns


LIMITED = """
import os, resource, sys
from app.__main__ import main
import app.headless
free = int(sys.argv[1])
limit = len(os.listdir("/proc/self/fd")) - 1 + free
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
sys.exit(main(sys.argv[2:]))
"""


def test_too_few_descriptors_end_no_case(work: Path) -> None:
    """With some number of them a sweep can begin and no export process can be started."""
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    ends: dict[str, Path] = {}
    for free in (4, 10, 11, 12):
        command = [sys.executable, "-c", LIMITED, str(free), *arguments, "--out", f"run{free}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "Traceback" not in result.stderr, result.stderr
        folder = work / f"run{free}"
        if (folder / "results.csv").exists():
            (row,) = rows(folder)
            ends[row["status"]] = folder
            if row["status"] == "export_failed":
                assert "ulimit -n" in row["reason"]
    folder = ends["export_failed"]
    assert run("resume", str(folder))[0] == 0
    assert [row["status"] for row in rows(folder)] == ["ok"]


def test_a_measuring_process_that_somebody_kills_is_started_again(work: Path) -> None:
    """As the system does for want of memory, whose memory it ever was."""
    arguments = ("--headless", "--models", "add.onnx", *FAKE, *SLEEPING, "--preset", "standard")
    process = launch(*arguments, *ONE)
    deadline = time.monotonic() + 60
    while not list((work / "run" / "samples").glob("*.bin")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    for child in psutil.Process(process.pid).children():
        if "app.workers.measure" in " ".join(child.cmdline()):
            child.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert _status(work) == "crashed"
    assert run("resume", "run")[0] == 0
    assert _status(work) == "ok"


def test_a_runtime_that_was_not_there_is_measured_when_it_is(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run")
    with monkeypatch.context() as patch:
        refusal = ("unavailable", "it is not installed: install it")
        patch.setattr(grid, "early_refusal", lambda *_: refusal)
        run(*arguments)
    assert _status(work) == "unavailable"
    assert run("resume", "run")[0] == 0
    (row,) = rows(work / "run")
    assert (row["status"], row["rounds"]) == ("ok", "2")
    assert run("verify", "run")[0] == 0


def test_external_data_that_is_missing_for_a_while(work: Path) -> None:
    save_affine(work / "affine.onnx", external="affine.weights")
    (work / "affine.weights").rename(work / "away")
    assert run("--headless", "--models", "affine.onnx", *FAKE, "--batch", "2", *ONE)[0] == 1
    assert _status(work) == "export_failed"
    (work / "away").rename(work / "affine.weights")
    assert run("resume", "run")[0] == 0
    assert _status(work) == "ok"
