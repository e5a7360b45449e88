"""Hosts as processes of this machine, some of which send what no host may."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from exporters import install_layout
from tests.checkout import ROOT

LIMIT_S = 60.0


def command_of(name: str) -> tuple[str, ...]:
    """What starts a host that is a machine of its own, as far as it says."""
    return install_layout.starter_command("app", "worker", "--stdio", "--machine", name)


def scripted(path: Path, body: str, *arguments: str) -> Sequence[str]:
    """The command of a program that does what `body` says."""
    path.write_text("import json, os, subprocess, sys, time\n" + body)
    return (sys.executable, str(path), *arguments)


def between(path: Path, name: str, body: str) -> Sequence[str]:
    """A host whose messages pass through `change`, a function of `body` that gives what is sent in
    their place."""
    program = f"""
sys.path.insert(0, {str(ROOT)!r})
from base64 import b64encode
from app.sweep.remote.link import data_of
from app.run_folder.files import LINE
def change(values, data, last=['']):
{body}
host = subprocess.Popen(sys.argv[1:], stdin=0, stdout=subprocess.PIPE)
for line in host.stdout:
    values = json.loads(line)
    for values, data in change(values, data_of(values) if "data" in values else b""):
        sent = {{"data": b64encode(data).decode()}} if data else {{}}
        print(json.dumps({{**values, **sent}}), flush=True)
"""
    return scripted(path, program, *command_of(name))


def wait_until(holds: Callable[[], bool], every_s: float = 0.01) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(every_s)


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
