"""A hundred kills at random instants of runs whose processes are forks that take turns, some of
them halted: of the run itself, of a template, of one of its forks, of a fresh process. Where the
run lives on it is interrupted after a second. Ten seconds later nothing of it may be left.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from tests.checkout import ROOT
from tests.layers import write_layers

KILLS, LEFT_AFTER_S = 100, 10.0
_TEMPLATE, _FRESH = "app.workers.template", "app.workers.measure"


def main() -> None:
    draw, counts, left = random.Random(49), Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in ("a", "b"):
            write_layers(scratch / f"{name}.onnx", 20 if name == "a" else 21)
        for number in range(KILLS):
            kind, remaining = killed(scratch, number, draw)
            counts[kind] += 1
            left += len(remaining)
            for process in remaining:
                sys.stdout.write(f"left of {kind}: {process}\n")
                process.kill()
    sys.stdout.write(f"{dict(counts)}: {left} processes left after {LEFT_AFTER_S:g} s\n")


def killed(folder: Path, number: int, draw: random.Random) -> tuple[str, list[psutil.Process]]:
    """What was killed, and what is left."""
    words = ["a.onnx", "b.onnx", "--runtimes", "ort-cpu", "--threads", "1,2", "--preset", "glance"]
    run = subprocess.Popen(
        [sys.executable, "-m", "app", "run", *words, "--rounds", "200", "--out", f"run{number}"],
        cwd=folder,
        env={**psutil.Process().environ(), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    itself = psutil.Process(run.pid)
    wanted = draw.choice(("run", "template", "fork", "fresh"))
    deadline_s = time.monotonic() + 60.0
    time.sleep(draw.uniform(1.0, 12.0))
    while not (victims := victims_of(run.pid, wanted)) and time.monotonic() < deadline_s:
        time.sleep(0.001)
    family = itself.children(recursive=True)
    if victims:
        draw.choice(victims).send_signal(signal.SIGKILL)
    if wanted != "run":
        time.sleep(1.0)
        family += itself.children(recursive=True)
        for _ in range(2):
            run.send_signal(signal.SIGINT)
            time.sleep(0.1)
    _, alive = psutil.wait_procs({*family, itself}, LEFT_AFTER_S)
    run.poll()
    return wanted if victims else "none", [
        p for p in alive if p.pid != run.pid or run.poll() is None
    ]


def victims_of(run: int, kind: str) -> list[psutil.Process]:
    if kind == "run":
        return [psutil.Process(run)]
    found = []
    for process in psutil.Process(run).children(recursive=True):
        try:
            words = process.cmdline()
            is_fork = _TEMPLATE in words and not process.children()
            kinds = {"fresh": _FRESH in words, "fork": is_fork}
            if kinds.get(kind, _TEMPLATE in words and not is_fork):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found
