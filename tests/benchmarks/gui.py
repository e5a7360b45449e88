"""The window over large and fast runs: start, opening, memory, frames, scrolling.

Each figure comes from a fresh process on the offscreen platform, so that what is measured
is the program and not a display.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, RoundResult
from app.machine.environment import describe_host
from app.plan.plan import Plan, named_lengths
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live, LiveFile
from app.run_folder.manifest import new_manifest
from app.runs.reader import read_run
from exporters.models import catalogue
from tests.benchmarks.measured import PAIRS, graphlap, installed, interleaved, ratio_text
from tests.benchmarks.tables import write_table

STARTS = 5
OPENED = 10_000_000
STREAMED = 20_000_000
STREAMED_PER_S = 100_000
FRAMES_FOR_S = 10.0
CASES = 5_000
SERIES, TABLE_CASES = 40, 288
GRID = {"models": 7, "runtimes": 3, "batches": 6, "threads": 4}
"""A large sweep as people have them: 504 cases."""
A_CASE = 21_826
"""Records of each of those: 11 million in all."""
WINDOW = [sys.executable, "-m", "tests.benchmarks.gui_child"]


def gui_window() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _starts(folder)
        _large(folder / "large")
        figures = _ask(folder, "open", folder / "large", OPENED)
        _tell(f"run of {OPENED:,} samples opened", figures["opened_s"], "s", "< 2")
        _tell("  longest pause of the window meanwhile", figures["longest_s"], "s", "")
        _write_run(folder / "many", CASES)
        figures = _ask(folder, "scroll", folder / "many")
        _tell(f"run of {CASES:,} cases opened", figures["opened_s"], "s", "")
        _tell(f"table of {CASES:,} cases scrolls", figures["frames_per_s"], "frames/s", ">= 30")
        _write_run(folder / "shown", SERIES)
        figures = _ask(folder, "switch", folder / "shown")
        _tell(f"change of view, {SERIES} series, median", figures["page_ms"], "ms CPU", "<= 100")
        _tell("  the slowest view", figures["worst_page_ms"], "ms CPU", "<= 100")
        _tell("change of the theme, every view drawn", figures["theme_ms"], "ms CPU", "")
        _write_run(folder / "listed", TABLE_CASES)
        figures = _ask(folder, "cold", folder / "listed")
        _tell(f"{TABLE_CASES} cases in the table and drawn", figures["opening_s"], "s CPU", "<= 2")
        _sweep(folder / "sweep")
        _tell_cold(_ask(folder, "cold", folder / "sweep"))
        _streams(folder)


def gui_acts() -> None:
    """Single acts over large data, medians: the results table of 5,000 rows, and reading plots of a
    million samples. The processor's time is what a calm machine would take."""
    with tempfile.TemporaryDirectory() as name:
        for label, milliseconds in _ask(Path(name), "acts").items():
            if not label.endswith("_s"):
                _tell(label, milliseconds, "ms CPU", "")


def gui_pairs(pairs: int = PAIRS or 20) -> None:
    """Does an open, drawing window move the numbers? Interleaved runs with it and without it.

    Each is a run of its own with one thread on the last core. The window is one process that
    follows each run; for the runs without it the process is stopped, not ended, so that nothing
    else differs. A second run without it gives the A/A ratio beside.
    """
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        window = subprocess.Popen(
            [*WINDOW, "watch"], env=_environment(folder), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert window.stdin and window.stdout
        window.stdout.readline()

        def measured(model: str, seen: bool) -> np.ndarray:
            path = folder / f"{model}-{time.time_ns()}"
            window.send_signal(signal.SIGCONT if seen else signal.SIGSTOP)
            if seen:
                print(path, file=window.stdin, flush=True)
            words = ("--runtimes", "ort-cpu", "--threads", 1, "--rounds", 1, "--out", path)
            graphlap("run", model, *words)
            # Of the samples themselves: a row has no p99 where too few are independent.
            run = read_run(path)
            ((result,),) = (rounds.values() for rounds in run.rounds.values())
            return np.percentile(run.samples_of(result).latency_ns, (50, 99))

        for model in ("cnn_tiny", "lstm_tiny"):
            sides = interleaved(pairs, *(partial(measured, model, s) for s in (True, False, False)))
            for place, (percentile, aim) in enumerate((("p50", 1.02), ("p99", 1.10))):
                seen, alone, again = ([row[place] for row in side] for side in sides)
                ratios = ratio_text(seen, alone), ratio_text(again, alone)
                rows.append((model, percentile, *ratios, f"ends <= {aim}"))
        window.send_signal(signal.SIGCONT)
        window.communicate(timeout=30)
    write_table(("model", "figure", "window/headless", "headless/headless", "aim"), rows)


def _starts(folder: Path) -> None:
    """The first launch compiles the modules, as an installation does, and is not counted."""
    answers = [_ask(folder, "start") for _ in range(1 + STARTS)][1:]
    for label, key, aim in (
        ("window visible after launch", "visible_s", "< 1.5"),
        ("  of the processor", "busy_s", ""),
    ):
        seconds = sorted(answer[key] for answer in answers)
        least = f"median of {STARTS}, least {seconds[0]:.2f}"
        _tell(f"{label} ({least})", statistics.median(seconds), "s", aim)


def _tell_cold(figures: dict[str, float]) -> None:
    """Of one launch with the run named; the processor's time is what a calm machine would take."""
    label = f"{figures['cases']:,.0f} cases, {figures['records'] / 1e6:.1f} M records"
    _tell(f"{label}: launch to table and plot", figures["there_s"], "s", "< 3")
    _tell("  of the processor, all threads", figures["busy_s"], "s", "")
    _tell("  of that opening, after the window was visible", figures["opening_s"], "s", "")
    _tell("  memory then", figures["rss_mb"], "MB", "< 400")
    _tell("  memory after every view", figures["views_mb"], "MB", "< 400")


def _tell(label: str, value: float, unit: str, aim: str) -> None:
    print(f"{label:62} {value:9.2f} {unit:9} {f'aim {aim}' if aim else ''}", flush=True)


def _environment(folder: Path) -> dict[str, str]:
    return {
        **installed(folder / "compiled"),
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(folder / "home"),
        "XDG_DATA_HOME": str(folder / "home"),
        "GRAPHLAP_LAUNCHED_NS": str(time.time_ns()),
    }


def _ask(folder: Path, *words: object) -> dict[str, float]:
    command = [*WINDOW, *map(str, words)]
    process = subprocess.run(
        command, env=_environment(folder), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(process.stdout.splitlines()[-1])


def _streams(folder: Path) -> None:
    """Samples arrive as from a worker: fast for the memory, at a rate for the frames."""
    figures = _stream(folder, "frames", STREAMED_PER_S, int(FRAMES_FOR_S * STREAMED_PER_S))
    _tell(f"drawing while {STREAMED_PER_S:,} samples/s arrive", figures["frames_per_s"], "frames/s",
          ">= 10")  # fmt: skip
    figures = _stream(folder, "memory", 0, STREAMED)
    _tell(f"memory gained over {STREAMED:,} samples", figures["gained_mb"], "MB", "< 50")


def _stream(folder: Path, mode: str, per_s: int, total: int) -> dict[str, float]:
    case = Case("cnn_tiny", "fake")
    path = folder / f"stream-{mode}"
    with _new(path, [case], 1) as run:
        live = Live("measuring", os.getpid(), 1, 0, 1, 0, case_id=case.case_id, round=0)
        live.phase = "measure"
        LiveFile(run).write(live, always=True)
        window = subprocess.Popen(
            [*WINDOW, mode, str(path)],
            env=_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert window.stdin and window.stdout
        window.stdout.readline()
        _pour(run.samples / f"{case.case_id}.0.bin", per_s, total, run, live)
        window.stdin.write("done\n")
        window.stdin.close()
        told = json.loads(window.stdout.readline())
        window.stdout.close()
        window.wait()
    return told


def _pour(path: Path, per_s: int, total: int, run: RunFolder, live: Live) -> None:
    """Blocks twenty times a second at a rate, or of 200,000 as fast as the window reads."""
    block = per_s // 20 if per_s else 200_000
    writer = LiveFile(run)
    start_s, clock_ns = time.monotonic(), 0
    with path.open("wb", buffering=0) as file:
        for number in range(total // block):
            file.write(_records(block, number, clock_ns).tobytes())
            clock_ns += block * 10_000
            live.iterations += block
            writer.write(live)
            due = start_s + (number + 1) * (0.05 if per_s else 0.1)
            time.sleep(max(0.0, due - time.monotonic()))


def _records(count: int, seed: int, first_ns: int = 0) -> np.ndarray:
    latency = np.random.default_rng(seed).lognormal(3.0, 0.2, count) * 1e3
    records = np.zeros(count, RECORD)
    records["started_ns"] = first_ns + np.arange(count) * 10_000
    records["finished_ns"] = records["started_ns"] + latency.astype(np.int64)
    records["phase"] = MEASURED
    return records


def _new(path: Path, cases: list[Case], rounds: int) -> RunFolder:
    lengths = named_lengths()["quick"]
    plan = Plan(sweeps=(Sweep(models=("cnn_tiny",)),))
    run = RunFolder.create(
        path,
        new_manifest(
            name="benchmark", seed=0, rounds=rounds, time_limit_s=lengths.time_limit_s,
            limits=lengths.limits, plan=plan, cases=cases, environment=describe_host(),
        ),
    )  # fmt: skip
    run.begin(describe_host())
    return run


def _record(run: RunFolder, case: Case, number: int, samples: np.ndarray) -> None:
    name = f"{case.case_id}.{number}.bin"
    (run.samples / name).write_bytes(samples.tobytes())
    run.record(RoundResult(case.case_id, number, "ok", samples=name, iterations=len(samples)))


def _large(path: Path) -> None:
    case = Case("cnn_tiny", "fake")
    with _new(path, [case], 5) as run:
        for number in range(5):
            _record(run, case, number, _records(OPENED // 5, number))


def _sweep(path: Path) -> None:
    """Cases over models, runtimes, batches and threads with a round each, measured to the end."""
    models = catalogue.names()[: GRID["models"]]
    runtimes = ("ort-cpu", "openvino-cpu", "torch-cpu")[: GRID["runtimes"]]
    batches = [2**k for k in range(GRID["batches"])]
    cases = [
        Case(model, runtime, axes={"batch": batch}, threads=threads)
        for model in models
        for runtime in runtimes
        for batch in batches
        for threads in range(1, GRID["threads"] + 1)
    ]
    with _new(path, cases, 1) as run:
        for number, case in enumerate(cases):
            _record(run, case, 0, _records(A_CASE, number))
        _finish(run)


def _finish(run: RunFolder) -> None:
    """Its rows, and the word that nothing is to come."""
    write_tables(run, Rows().of(read_run(run.path)))
    live = Live("finished", os.getpid(), len(run.manifest.cases), 0, 1, 0)
    LiveFile(run).write(live, always=True)


def _write_run(path: Path, count: int) -> None:
    """A finished run of so many cases of 400 samples."""
    cases = [Case("cnn_tiny", "fake", threads=k + 1) for k in range(count)]
    with _new(path, cases, 1) as run:
        for number, case in enumerate(cases):
            _record(run, case, 0, _records(400, number))
        _finish(run)
