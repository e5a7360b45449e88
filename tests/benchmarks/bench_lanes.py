"""Two sessions in one process beside two processes at once: what sharing the interpreter costs.

Both sides run the same two loops on the same cores and count only the runs that lie within
the time in which both loops were running; one session alone stands beside them. Last, in one
process, what of it is the engine's own: two sessions of its two builds share no state of it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from app.cases.round import Limits, latency_ns
from app.workers.lanes import counted_records, merge_lane_records
from exporters.codec import to_json
from exporters.types import ExportedModel
from tests.benchmarks.bench_loop import AXES, one_node
from tests.benchmarks.pairs import PAIRS, interleaved, ratio_text
from tests.benchmarks.rounds import export, sample

MODELS = ("mlp", "cnn_med", "char_cnn")
RUNS = 200_000
LIMITS = Limits(min_s=1.0, max_s=2.0, warmup_min_s=0.2, warmup_max_s=1.0)


@dataclass(slots=True)
class Side:
    """What the rounds of one way of running gave: p50 [us] and runs a second."""

    title: str
    p50_us: list[float] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)

    def take(self, latency: np.ndarray, loops: int) -> float:
        self.p50_us.append(float(np.median(latency)) / 1e3)
        self.per_s.append(loops * 1e9 / float(np.mean(latency)))
        return self.p50_us[-1]


def main() -> None:
    sys.stdout.write(
        "ort-cpu, one thread a session, interleaved triples; medians, and the ratio of two "
        "sessions to two processes with its 95 % interval\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        smallest = export(str(one_node(Path(folder))), AXES)
        for model in (smallest, *(export(name, AXES) for name in MODELS)):
            _compare(model, PAIRS or 9)
        _builds(smallest, PAIRS or 9)


def _compare(model: ExportedModel, pairs: int) -> None:
    alone, processes, sessions = map(Side, ("one session", "two processes", "two sessions"))
    interleaved(
        pairs,
        lambda: alone.take(latency_ns(_records(model, 1)), 1),
        lambda: processes.take(_two_processes(model), 2),
        lambda: sessions.take(latency_ns(_records(model, 2)), 2),
    )
    sys.stdout.write(f"{model.name}\n")
    for side in (alone, processes, sessions):
        p50_us, per_s = statistics.median(side.p50_us), statistics.median(side.per_s)
        sys.stdout.write(f"  {side.title:14} p50 {p50_us:10.2f} us {per_s:10.0f} runs/s\n")
    sys.stdout.write(f"  p50    {ratio_text(sessions.p50_us, processes.p50_us)}\n")
    sys.stdout.write(f"  runs/s {ratio_text(sessions.per_s, processes.per_s)}\n")
    sys.stdout.flush()


def _builds(model: ExportedModel, turns: int) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.two_builds", str(turns), str(RUNS)]
    text = json.dumps(to_json(model))
    process = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    alone, same, each = np.array([line.split() for line in process.stdout.splitlines()], float).T
    sys.stdout.write(
        f"{model.name} in one process, p50 over that of a session alone\n"
        f"  beside a second of its build    {ratio_text(same.tolist(), alone.tolist())}\n"
        f"  beside one of the other build   {ratio_text(each.tolist(), alone.tolist())}\n"
    )
    sys.stdout.flush()


def _records(model: ExportedModel, sessions: int) -> np.ndarray:
    result, records = sample(model, AXES, limits=LIMITS, options={"sessions": sessions})
    if result.status != "ok":
        raise RuntimeError(result.reason)
    return records


def _two_processes(model: ExportedModel) -> np.ndarray:
    """Latencies in ns of two rounds begun together, on the one clock that processes share."""
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(_records, model, 1) for _ in range(2)]
        records = [future.result() for future in both]
    return latency_ns(counted_records(merge_lane_records(records)))


if __name__ == "__main__":
    main()
