"""Does an open, drawing window move the numbers? Interleaved pairs with it and without it.

Each measurement is a batch run of its own with one thread on the last core. The window is one
process that follows each run; for the runs without it the process is stopped, not ended, so
that nothing else differs. A second run without it gives the A/A ratio beside.
"""

from __future__ import annotations

import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from app.runs.reader import read_run

PAIRS = int(os.environ.get("GRAPHLAP_PAIRS", "20"))
MODELS = ("cnn_tiny", "lstm_tiny")
AIMS = {"p50": 1.02, "p99": 1.10}
SHARES = {"p50": 50, "p99": 99}


def main() -> None:
    sys.stdout.write(
        f"window open and drawing against headless, {PAIRS} interleaved pairs, 95 % intervals\n"
        f"{'model':12} {'':4} {'window/headless':>28} {'headless/headless':>28}\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watcher = _Watcher(folder)
        try:
            for model in MODELS:
                _compare(folder, watcher, model)
        finally:
            watcher.close()


class _Watcher:
    """A window that opens each folder whose name it is told."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.gui_watch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "QT_QPA_PLATFORM": "offscreen",
                "XDG_CONFIG_HOME": str(folder / "home"),
                "XDG_DATA_HOME": str(folder / "home"),
            },
        )
        assert self._process.stdout
        self._process.stdout.readline()

    def follow(self, path: Path) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()

    def sleep(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.wake()
        self._process.communicate(timeout=30)


def _compare(folder: Path, watcher: _Watcher, model: str) -> None:
    measurements: dict[str, list[dict[str, float]]] = {"window": [], "headless": [], "again": []}
    order = random.Random(0)
    for number in range(PAIRS):
        for kind in order.sample(list(measurements), len(measurements)):
            path = folder / f"{model}-{kind}-{number}"
            if kind == "window":
                watcher.wake()
                watcher.follow(path)
            else:
                watcher.sleep()
            measurements[kind].append(_measure(model, path))
    watcher.wake()
    for name, aim in AIMS.items():
        with_window = _ratio(measurements, "window", "headless", name)
        alone = _ratio(measurements, "again", "headless", name)
        sys.stdout.write(
            f"{model:12} {name:4} {_text(with_window):>28} {_text(alone):>28}"
            f"   aim: ends <= {aim}\n"
        )
        sys.stdout.flush()


def _measure(model: str, path: Path) -> dict[str, float]:
    flags = ["--models", model, "--runtimes", "ort-cpu", "--threads", "1", "--rounds", "1"]
    subprocess.run(
        [sys.executable, "-m", "app", "--headless", *flags, "--out", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    time.sleep(0.3)
    # Of the samples themselves: a row has no p99 where a noisy machine leaves too few that are
    # independent, and here the pairs tell how sure a ratio is.
    run = read_run(path)
    ((result,),) = (rounds.values() for rounds in run.rounds.values())
    latency_ns = run.samples_of(result).latency_ns
    return {name: float(np.percentile(latency_ns, share)) for name, share in SHARES.items()}


def _ratio(
    measurements: dict[str, list[dict[str, float]]], numerator: str, denominator: str, name: str
) -> tuple[float, float, float]:
    """Geometric mean of the pairs' ratios with Student's t interval of its logarithm."""
    logs: Sequence[float] = [
        math.log(a[name] / b[name])
        for a, b in zip(measurements[numerator], measurements[denominator], strict=True)
    ]
    middle = statistics.fmean(logs)
    reach = float(stdtrit(len(logs) - 1, 0.975)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


def _text(ratio: tuple[float, float, float]) -> str:
    return f"{ratio[0]:.3f} ({ratio[1]:.3f} to {ratio[2]:.3f})"
