"""What a large run costs to export and to report: rows, raw samples in each format, the page.

Each figure is of the command as a user gives it, in a process of its own, the reading of the run
and the computing of its rows included.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, RoundResult
from app.run_folder.folder import RunFolder, samples_name
from app.run_folder.journal import FOLDER, line_values
from tests.app.run_folder.runs import manifest_of

CASES, ROUNDS, RUNS = 5_000, 3, 400
LONG_CASES, LONG_RUNS = 4, 1_000_000
PAGE_CASES = 1_000
RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu", "fake", "tensorrt")


def made_run(path: Path, cases: int, rounds: int, runs: int) -> Path:
    """A run folder of log-normal latencies, five runtimes and five batch sizes to a model.

    The journal is written at once: a flush for each round is what a sweep pays, no reader.
    """
    planned_cases = [
        Case(f"net{place // 25}.onnx", RUNTIMES[place % 5], axes={"batch": 1 << place // 5 % 5})
        for place in range(cases)
    ]
    rng = np.random.default_rng(1)
    with RunFolder.create(path, manifest_of(planned_cases, rounds)):
        pass
    with (path / FOLDER / "made.jsonl").open("w") as journal:
        for place, case in enumerate(planned_cases):
            for number in range(rounds):
                latency_ns = rng.lognormal(np.log(20_000 + 37 * place), 0.1, runs).astype(np.int64)
                records = np.zeros(runs, RECORD)
                records["finished_ns"] = np.cumsum(latency_ns)
                records["started_ns"] = records["finished_ns"] - latency_ns
                records["scheduled_ns"] = records["started_ns"]
                records["phase"] = MEASURED
                name = samples_name(case.case_id, number)
                (path / "samples" / name).write_bytes(records.tobytes())
                line = RoundResult(case.case_id, number, "ok", samples=name, iterations=runs)
                journal.write(json.dumps(line_values(line)) + "\n")
    return path


def main() -> None:
    """A line for each command: wall, processor time, and what was aimed at on a quiet machine."""
    with tempfile.TemporaryDirectory() as folder:
        run = made_run(Path(folder) / "many", CASES, ROUNDS, RUNS)
        size_text = f"{CASES:,} cases of {ROUNDS} rounds of {RUNS} runs"
        for name in ("json", "markdown"):
            _tell(f"--export {name}, {size_text}", _timed("export", "-f", name, str(run)), "< 10 s")
        page = Path(folder) / "page.html"
        _tell(f"--report, {size_text}", _timed("report", str(run), "-o", str(page)), "< 60 s")
        long = made_run(Path(folder) / "long", LONG_CASES, 1, LONG_RUNS)
        rows_only = _timed("export", "-f", "json", str(long))
        for name, written_to in (("csv", "samples.csv"), ("parquet", "samples.parquet")):
            took = _timed("export", "-f", name, str(long)).less(rows_only)
            read_mb = LONG_CASES * LONG_RUNS * RECORD.itemsize / 1e6
            wrote_mb = (long / written_to).stat().st_size / 1e6
            rates = [f"{mb / took.wall_s:.0f} MB/s {word}" for mb, word in ((read_mb, "read"),
                     (wrote_mb, "written"))]  # fmt: skip
            _tell(f"samples as {name}", took, f"{', '.join(rates)}; aim 50 MB/s")
        smaller = made_run(Path(folder) / "page", PAGE_CASES, ROUNDS, RUNS)
        took = _timed("report", str(smaller), "-o", str(page))
        size_mb = page.stat().st_size / 1e6
        _tell(f"--report, {PAGE_CASES:,} cases", took, f"{size_mb:.1f} MB, aim < 8 MB")


@dataclass(frozen=True, slots=True)
class Took:
    wall_s: float
    cpu_s: float

    def less(self, other: Took) -> Took:
        return Took(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


def _timed(*arguments: str) -> Took:
    start_s, usage_before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "app", *arguments]
    process = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {process.returncode}")
    usage_after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = (
        usage_after.ru_utime + usage_after.ru_stime - usage_before.ru_utime - usage_before.ru_stime
    )
    return Took(time.perf_counter() - start_s, cpu_s)


def _tell(label: str, took: Took, aim: str) -> None:
    load = os.getloadavg()[0]
    sys.stdout.write(
        f"{label}: {took.wall_s:.1f} s, {took.cpu_s:.1f} s of processors ({aim}); load {load:.1f}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
