"""Time from Enter to the first figure and to the first interval on the screen.

`FIRST_FIGURE_RUNS` is the number of runs of each network (10), `FIRST_FIGURE_ROOT` a checkout of
another version to measure instead of this one.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

import psutil

from tests.benchmarks.installed import installed
from tests.benchmarks.ten_megabytes import NETWORKS
from tests.checkout import ROOT

RUNS = int(os.environ.get("FIRST_FIGURE_RUNS", "10"))
CHECKOUT = os.environ.get("FIRST_FIGURE_ROOT") or str(ROOT)
ENGINES = "ort-cpu,openvino-cpu"
LIMIT_S = 180.0
LINES, COLUMNS = 40, 100
_NUMBER = r"\d[\d,.]* (?:ns|µs|ms|s)\b"
FIGURE = re.compile(rf"p50 {_NUMBER}")
INTERVAL = re.compile(rf"p50 {_NUMBER} \(\d|p50 within (?:±|a factor)")
"""How a figure and an interval look on the screen, in this version and before it."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Wait:
    """Seconds from the start, and processor seconds that all processes had taken by then."""

    seconds: float
    processor_s: float


def main() -> None:
    write = sys.stdout.write
    write(f"{RUNS} runs each, empty export cache, engines {ENGINES}, median (range)\n\n")
    write("| network | first figure | processor | first interval | processor | load |\n")
    write("| --- | --- | --- | --- | --- | --- |\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, build in NETWORKS.items():
            path = Path(folder) / f"{name}.onnx"
            build(path)
            if not (Path(folder) / "compiled").exists():
                _waits(path, Path(folder) / "first")  # compiles our modules
            loads, waits = [], []
            for number in range(RUNS):
                loads.append(os.getloadavg()[0])
                waits.append(_waits(path, Path(folder) / f"{name}-{number}"))
            cells = [
                cell
                for column in zip(*waits, strict=True)
                for cell in (
                    _spread([wait.seconds for wait in column]),
                    _spread([wait.processor_s for wait in column]),
                )
            ]
            write(f"| {name} | {' | '.join(cells)} | {_range(loads)} |\n")
            sys.stdout.flush()


def _waits(network: Path, folder: Path) -> tuple[Wait, Wait]:
    """Of one run on a terminal: until a figure stands there, and until an interval does."""
    command = [sys.executable, "-m", "app", "--headless", "--models", str(network)]
    command += ["--runtimes", ENGINES, "--out", str(folder)]
    environment = {
        **installed(folder.with_name("compiled")),
        "GRAPHLAP_CACHE": f"{folder}-cache",
    }
    screen, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    start_s = time.perf_counter()
    child = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    waits: list[Wait] = []
    screen_text = ""
    try:
        while len(waits) < 2:
            if time.perf_counter() - start_s > LIMIT_S or not _readable(screen):
                raise RuntimeError(
                    f"no {('figure', 'interval')[len(waits)]}: {screen_text[-2000:]}"
                )
            screen_text += os.read(screen, 1 << 16).decode("utf-8", "replace")
            text = _CONTROL.sub("", screen_text)
            if not waits and FIGURE.search(text):
                waits.append(_wait(start_s, child.pid))
            if waits and INTERVAL.search(text):
                waits.append(_wait(start_s, child.pid))
    finally:
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        while _readable(screen, 0.1) or child.poll() is None:
            try:
                os.read(screen, 1 << 16)
            except OSError:  # the terminal's other end is closed
                break
        child.wait()
        os.close(screen)
    return waits[0], waits[1]


def _readable(descriptor: int, seconds: float = LIMIT_S) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _wait(start_s: float, pid: int) -> Wait:
    seconds = time.perf_counter() - start_s
    process = psutil.Process(pid)
    processor_s = 0.0
    for member in (process, *process.children(recursive=True)):
        try:
            processor_s += sum(member.cpu_times()[:4])
        except psutil.Error:
            continue
    return Wait(seconds, processor_s)


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f})"


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


if __name__ == "__main__":
    main()
