"""A sweep of 1,000, 10,000 and 100,000 cases: until it measures, until its first round has ended,
until it is over after Ctrl-C; and the same resumed.

Seconds are from the start of the command, as a user waits for them. The parent's own seconds of a
core say what of that was its work, also where others work beside it; the memory is the most that it
held. Then the window's follower opens what is there, in a process of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT

CASES = (1_000, 10_000, 100_000)
AIMS = "aims at 100,000: planned and resumed in < 5 s, < 500 MB"
LONGEST_S = 600.0
FOLLOW = """
import resource, sys, time
from pathlib import Path
from app.runs.following.reader import RunReader
begun = time.process_time()
reader = RunReader(Path(sys.argv[1]))
reader.poll()
opened = time.process_time()
reader.poll()
again = time.process_time()
reader.close()
held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
opened, again = opened - begun, again - opened
print(f"followed: {opened:.2f} s of a core to open, {again:.3f} s to look again, {held} MiB")
"""


def main() -> None:
    sys.stdout.write(f"{AIMS}; load {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GRAPHLAP_CACHE"] = f"{scratch}/cache"
        write_add_graph(Path(scratch) / "add.onnx", ("batch", 3))
        _interrupt(Path(scratch), 100)  # fills the cache
        for cases in CASES:
            first, then = _interrupt(Path(scratch), cases)
            sys.stdout.write(f"{cases:7,d} new:      {first}\n        resumed:  {then}\n")
            run = str(Path(scratch) / f"run{cases}")
            output = subprocess.run(
                [sys.executable, "-c", FOLLOW, run], capture_output=True, text=True, check=True
            ).stdout
            sys.stdout.write(f"        {output}")
            sys.stdout.flush()


def _interrupt(scratch: Path, cases: int) -> tuple[str, str]:
    """A new sweep, and the same resumed, each interrupted in its first round's neighbour."""
    run = scratch / f"run{cases}"
    seeds = ",".join(map(str, range(cases // 100)))
    ten = "1,2,3,4,5,6,7,8,9,10"
    new = ["--headless", "--models", "add.onnx", "--runtimes", "fake", "--out", str(run)]
    new += ["--batch", ten, "--threads", ten, "--option", f"fake.seed={seeds}"]
    return _watch(new, run, scratch), _watch(["resume", str(run)], run, scratch)


def _watch(arguments: list[str], run: Path, scratch: Path) -> str:
    before = _rounds(run)
    with (scratch / "log").open("w+b") as log:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "app", *arguments],
            cwd=scratch,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

        def until(happened: Callable[[], bool]) -> float:
            while not happened():
                if process.poll() is not None or time.perf_counter() - begun > LONGEST_S:
                    raise RuntimeError((scratch / "log").read_text())
                time.sleep(0.01)
            return time.perf_counter() - begun

        planned_s = until(lambda: b" cases, " in (scratch / "log").read_bytes())
        told = psutil.Process(process.pid).cpu_times()
        planned_cpu_s = told.user + told.system
        first_s = until(lambda: _rounds(run) > before)
        asked = time.perf_counter()
        for _ in range(2):
            process.send_signal(signal.SIGINT)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it is reaped
    ended_s = time.perf_counter() - asked
    return (
        f"measures after {planned_s:5.2f} s ({planned_cpu_s:.2f} of a core), first round after "
        f"{first_s:5.2f} s, over {ended_s:5.2f} s after Ctrl-C; "
        f"{used.ru_utime + used.ru_stime:5.2f} s of a core in all, {used.ru_maxrss >> 10:3d} MiB"
    )


def _rounds(run: Path) -> int:
    journals = (path.read_bytes() for path in (run / "journal").glob("*.jsonl"))
    return sum(text.count(b'{"kind":"round"') for text in journals)
