"""Exports of what people bring: a noisy, a greedy or a killed one costs its own case, no more."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.analysis.columns.rows import Rows
from app.present.console.answer.outcome import exit_code
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.sweep.engine import Engine, Event
from app.sweep.run_creation import create_run
from app.sweep.scheduling.run_scheduler import build_scheduler
from app.sweep.work import export
from app.sweep.work.export import ExportWork
from app.sweep.work.local_executor import ThisMachine
from exporters import install_layout
from exporters.codec import to_json
from exporters.messages import ExportReply, ExportRequest
from exporters.worker import __main__ as worker
from tests.app.sweep.sweeps import (
    Given,
    drive,
    run_to_end,
    script,
    small_plan,
    write_add_graph,
)

NOISE = """
import os, sys
import torch

def build():
    print("a line on standard output")
    print('{"status": 5}', "and on standard error", file=sys.stderr)
    os.write(1, b"a line by its descriptor\\n")
    os.system("echo a line of another process")
    for descriptor in range(3, 40):
        try:
            os.write(descriptor, b'{"half": ')
        except OSError:
            pass
    assert sys.stdin.read() == "", "the requests are not a user's to read"
    return torch.nn.Linear(4, 2), {"x": torch.zeros(1, 4)}
"""


def exported(
    works: list[ExportWork],
    place: ThisMachine | None = None,
    react: Callable[[Event], object] = lambda _: None,
) -> list[ExportReply]:
    """What the export processes of this machine reply, one after another."""
    with Engine(Given(works), place) as engine:
        drive(engine, react)
    assert all(work.reply for work in works)
    return [work.reply for work in works if work.reply]


def test_what_a_users_file_prints_or_writes_anywhere_is_no_reply(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISE)
    write_add_graph(tmp_path / "add.onnx")
    names = (f"{tmp_path}/noisy.py:build", str(tmp_path / "add.onnx"))
    replies = exported([ExportWork(ExportRequest(name), 120.0) for name in names])
    assert [(reply.status, reply.reason) for reply in replies] == [("ok", ""), ("ok", "")]


@pytest.mark.parametrize(("asked", "limit_s"), [(None, 600.0), (8.0, 30.0), (90.0, 90.0)])
def test_the_time_limit_that_is_asked_for_holds_for_exports(
    tmp_path: Path, asked: float | None, limit_s: float
) -> None:
    with create_run(small_plan(tmp_path, time_limit_s=asked), tmp_path / "run") as folder:
        rounds = build_scheduler(folder, read_run(folder.path), Rows())
    work = rounds.next(())
    assert isinstance(work, ExportWork)
    assert work.time_limit_s == limit_s


def test_a_full_disk_is_told_with_its_remedy_however_deep_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            raise RuntimeError("the exporter failed") from error

    monkeypatch.setattr(worker, "export", full)
    reply = worker.answer(json.dumps(to_json(ExportRequest("mlp"))), 0)
    assert reply.status == "cancelled"
    assert "no space left for the export cache" in reply.reason
    assert "resume the run" in reply.reason


def test_what_was_cancelled_is_told_fails_the_run_and_is_measured_when_it_is_resumed(
    tmp_path: Path,
) -> None:
    reply = json.dumps(to_json(ExportReply("cancelled", reason="the disk is full: --resume")))
    full = script(tmp_path / "full.py", f"sys.stdin.readline(); print({reply!r}, flush=True)")
    place = ThisMachine(commands={"export": full})
    (row,) = run_to_end(create_run(small_plan(tmp_path), tmp_path / "run"), place)
    assert (row["status"], row["reason"]) == ("cancelled", "the disk is full: --resume")
    assert exit_code([row], strict=False) == 1
    (row,) = run_to_end(RunFolder.reopen(tmp_path / "run"))
    assert (row["status"], row["reason"], row["rounds"]) == ("ok", None, 1)


def test_an_exporter_dies_with_its_parent_in_the_middle_of_an_export(tmp_path: Path) -> None:
    (tmp_path / "hang.py").write_text(f"""
import os, pathlib, time
def build():
    pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
    time.sleep(600)
""")
    request = json.dumps(to_json(ExportRequest(f"{tmp_path}/hang.py:build")))
    parent = f"""
import subprocess, time
command = {install_layout.command("exporters.worker")!r}
child = subprocess.Popen(command, stdin=-1, start_new_session=True)
child.stdin.write({request.encode()!r} + b"\\n")
child.stdin.flush()
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", parent]) as process:
        pid = tmp_path / "pid"
        while not (pid.exists() and pid.read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(pid.read_text())).wait(10)


def test_an_exporter_that_dies_while_idle_costs_nothing(tmp_path: Path) -> None:
    place = ThisMachine()
    idle = place.exporter()
    assert idle.pid is not None
    place.give_back(idle)
    os.kill(idle.pid, signal.SIGKILL)
    while not idle.ended():
        time.sleep(0.01)
    request = ExportRequest(str(write_add_graph(tmp_path / "add.onnx")))
    (reply,) = exported([ExportWork(request, 60.0)], place)
    assert reply.status == "ok"


def test_an_export_keeps_to_the_memory_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "EXPORTER_ITSELF_BYTES", 2**26)
    command = script(tmp_path / "greedy.py", "held = b'x' * 2**28; time.sleep(600)")
    work = ExportWork(ExportRequest("add.onnx"), 60.0, memory_limit_bytes=2**26)
    (reply,) = exported([work], ThisMachine(commands={"export": command}))
    assert reply.status == "out_of_memory"
    assert "more than 64 MiB for the model: raise --memory-limit" in reply.reason
