"""The result file of `onnxruntime_perf_test`: a line for each run, appended by each process."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator

from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    ForeignCase,
    consecutive_timings,
    parse_number,
)

_LINE = re.compile(r"(?P<model>.*),(?P<seconds>[^,]*),(?P<memory>\d{1,18}),-?\d+,(?P<run>\d{1,18})")
"""Model, seconds, largest working set in bytes, processor use in percent, number of the run."""
_LATENCY_LINE = re.compile(r"(Min|Max|P\d+) Latency( is |: )\S+ *s(ec)?")
"""What `-s` adds after the runs of a process; all of it follows from them."""
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def recognises(content: Content) -> bool:
    """Whether perf_test wrote it."""
    first = next(filter(None, map(str.strip, content.text.splitlines())), "")
    return content.data is None and _LINE.fullmatch(first) is not None


def read(content: Content) -> list[ForeignCase]:
    """A case for each model, with a round for each process that appended to the file."""
    processes: dict[str, list[list[float]]] = {}
    memory: dict[str, int] = {}
    for model, seconds, bytes_held, run in _lines(content):
        model_rounds = processes.setdefault(model, [])
        if run == 0 or not model_rounds:
            model_rounds.append([])
        model_rounds[-1].append(seconds)
        memory[model] = max(memory.get(model, 0), bytes_held)
    return [_case_of(model, rounds, memory[model]) for model, rounds in processes.items()]


def _lines(content: Content) -> Iterator[tuple[str, float, int, int]]:
    for number, line in enumerate(content.text.splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            seconds = parse_number(match["seconds"], f"the time in line {number}")
            yield match["model"], seconds, int(match["memory"]), int(match["run"])
        elif line.strip() and not _LATENCY_LINE.fullmatch(line.strip()):
            raise Damaged(f"line {number} is {line.strip()!r:.60}")


def _case_of(model: str, rounds: list[list[float]], memory: int) -> ForeignCase:
    ascending = sorted(seconds for round_seconds in rounds for seconds in round_seconds)
    figures: dict[str, float | int | str] = {
        "latency_mean_us": 1e6 * statistics.fmean(ascending),
        "latency_min_us": 1e6 * ascending[0],
        "latency_max_us": 1e6 * ascending[-1],
    }
    for name, share in _SHARES.items():
        figures[f"latency_{name}_us"] = 1e6 * ascending[int(len(ascending) * share)]
    if memory:
        figures["rss_peak_mib"] = memory / 2**20
    return ForeignCase(
        model,
        "wall of onnxruntime_perf_test",
        "one call of the session, from and to host memory",
        figures=figures,
        rounds=tuple(map(consecutive_timings, rounds)),
    )
