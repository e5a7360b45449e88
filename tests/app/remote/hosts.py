"""Hosts as processes of this machine, and jobs of the scripted runtime for them."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from app.remote.contract import Block, Ended, HostJob, Lost, Message, Said
from app.remote.pipe_transport import PipedCarrier
from app.remote.wire import SILENCE_S
from app.sweep.work.remote_channel import prepare_job
from exporters import install_layout
from exporters.codec import to_json
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import round_work

LIMIT_S = 60.0


def command_of(name: str, *flags: str) -> tuple[str, ...]:
    """What starts a worker that shares its cores with nobody, as far as it says."""
    return install_layout.starter_command("app.remote.worker", "--stdio", "--machine", name, *flags)


@contextmanager
def carrier_of(*names: str, silence_s: float = SILENCE_S) -> Iterator[PipedCarrier]:
    """Hosts of these names, each a machine of its own."""
    carrier = PipedCarrier({name: command_of(name) for name in names}, silence_s)
    try:
        yield carrier
    finally:
        carrier.close()


def agent_of(carrier: PipedCarrier, host: str) -> psutil.Process:
    """The process in which a host's agent is now."""
    connection = carrier._hosts[host]._connection
    assert connection is not None, "it has begun"
    return psutil.Process(connection._process.pid)


def job(
    model: ExportedModel,
    folder: Path,
    *,
    min_s: float = 0.1,
) -> HostJob:
    """A round of the scripted runtime, as a sweep would hand it over."""
    work = round_work(model, folder, min_s=min_s)
    remote_job, files = prepare_job(work.job, send_code=False)
    return HostJob("a.0.1", "round", json.dumps(to_json(remote_job)), files)


@dataclass
class Heard:
    """What came of one job."""

    messages: list[Message] = field(default_factory=list)

    def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def end(self) -> Ended | Lost | None:
        last = self.messages[-1] if self.messages else None
        return last if isinstance(last, Ended | Lost) else None

    def wait(self) -> Ended | Lost:
        wait_until(lambda: self.end is not None)
        assert self.end is not None
        return self.end

    @property
    def samples(self) -> bytes:
        return b"".join(m.data for m in self.messages if isinstance(m, Block))

    def said(self, word: str) -> list[str]:
        return [m.line for m in self.messages if isinstance(m, Said) and word in m.line]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.01)


def child_of(agent: psutil.Process) -> psutil.Process:
    """The measuring process of an agent."""
    wait_until(lambda: bool(agent.children()))
    return agent.children()[0]


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def cut_off(agent: psutil.Process) -> None:
    """It is there and says nothing more, as behind a cable that was pulled."""
    os.kill(agent.pid, signal.SIGSTOP)


def scripted(path: Path, body: str, *arguments: str) -> Sequence[str]:
    """The command of a program that does what `body` says."""
    path.write_text("import json, os, subprocess, sys, time\n" + body)
    return (sys.executable, str(path), *arguments)
