"""What each runtime says when it is really loaded, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from exporters import own

PROBE_COMMAND = own.command("runtimes.probe")
TIME_LIMIT_S = 60.0
_LINES_KEPT = 4


@dataclass(frozen=True, slots=True)
class Probed:
    """`version` is empty where the runtime is not installed; `reason` where it works.

    `loader` are the last lines that its loader wrote, from C as well, where it does not.
    """

    name: str
    version: str = ""
    devices: tuple[str, ...] = ()
    load_ms: float = 0.0
    reason: str = ""
    remedy: str = ""
    loader: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether it is installed and yet can't be used."""
        return bool(self.version and self.reason)


def probe_all(names: Sequence[str], command: Sequence[str] = PROBE_COMMAND) -> Iterator[Probed]:
    """One answer for each runtime, in order; they are loaded side by side."""
    with tempfile.TemporaryDirectory(prefix="graphlap-") as folder:
        started = []
        for name in names:
            said = open(f"{folder}/{name}", "w+b")  # noqa: PTH123, SIM115 - closed below
            process = subprocess.Popen(
                [*command, name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                env=own.child_environment(),
            )
            started.append((name, process, said))
        for name, process, said in started:
            with said:
                yield _answer(name, process, said)


def _answer(name: str, process: subprocess.Popen[bytes], said: IO[bytes]) -> Probed:
    try:
        out, _ = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Probed(
            name,
            version="?",
            reason=f"it did not load within {TIME_LIMIT_S:g} s",
            remedy="install it again",
            loader=_last_lines(said),
        )
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError:
        how = f"signal {-process.returncode}" if process.returncode < 0 else "no answer"
        return Probed(
            name,
            version="?",
            reason=f"loading it ended with {how}",
            remedy="install it again",
            loader=_last_lines(said),
        )
    devices = tuple(f"{d['key']} ({d['name']})" for d in told.pop("devices", ()))
    loader = _last_lines(said) if told.get("reason") else ()
    return Probed(name, devices=devices, loader=loader, **told)


def _last_lines(said: IO[bytes]) -> tuple[str, ...]:
    said.seek(0)
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines()]
    return tuple(line for line in lines if line)[-_LINES_KEPT:]
