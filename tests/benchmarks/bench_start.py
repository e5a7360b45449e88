"""How long a user waits: for the list of models, for the first line of a run in seconds of a core,
and from launch to the first sample."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.benchmarks.installed import installed

RUNS = 7
ENGINES = ("torch", "onnxruntime", "openvino")


def main() -> None:
    command = [sys.executable, "-m", "app", "models"]
    with tempfile.TemporaryDirectory() as folder:
        env = installed(Path(folder))
        seconds = [_run_s(command, env) for _ in range(1 + RUNS)][1:]
    modules = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "app", "models"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    imported_engines = [e for e in ENGINES if f"| {e}\n" in modules or f" {e}\n" in modules]
    sys.stdout.write(
        f"--list: {_spread(seconds)} (aim < 0.5 s); "
        f"engines imported: {', '.join(imported_engines) or 'none'}\n"
    )
    seconds = [_first_line_s() for _ in range(RUNS)]
    sys.stdout.write(f"first line of a run, of a core: {_spread(seconds)} (aim < 0.5 s)\n")
    _first_sample_s()  # fills the export cache
    waits = [_first_sample_s() for _ in range(RUNS)]
    sys.stdout.write(f"launch to first sample, warm cache: {_spread(waits)} (aim < 3 s)\n")


def _run_s(command: list[str], env: dict[str, str]) -> float:
    start_s = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, env=env)
    return time.perf_counter() - start_s


def _first_line_s() -> float:
    """Seconds of processor that a run and its children took until its first line."""
    command = [sys.executable, "-m", "app", "run", "cnn_tiny"]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--out", f"{folder}/run"]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as child:
            assert child.stderr is not None
            child.stderr.readline()
            times = psutil.Process(child.pid).cpu_times()
            child.kill()
    return sum(times[:4])


def _first_sample_s() -> float:
    """Seconds from starting a batch run of one case until its samples file has a record."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "app", "--headless", "--models", "cnn_tiny"]
        command += ["--runtimes", "ort-cpu", "--rounds", "1", "--out", str(out)]
        start_s = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
            while not any(f.stat().st_size for f in out.glob("samples/*.bin")):
                if child.poll() is not None:
                    raise RuntimeError(f"the run ended with {child.returncode} before a sample")
                time.sleep(0.005)
            wait_s = time.perf_counter() - start_s
            child.terminate()
    return wait_s


def _spread(seconds: list[float]) -> str:
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    return f"median {middle:.2f} s of {len(seconds)} ({low:.2f} to {high:.2f})"
