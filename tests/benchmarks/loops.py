"""What the timed loops add: beside C, beside another session, and when runs begin at a time."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from app.cases.round import latency_ns
from app.cases.scenario import Scenario, WaitPolicy
from app.run_folder.run import as_samples
from app.stats.open_loop import lateness_ns
from app.workers.lanes import counted_records, merge_lane_records
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes.options import OptionValue
from tests.benchmarks.measured import (
    PAIRS,
    export,
    interleaved,
    output_of,
    p50_us,
    ratio_text,
    sample,
)
from tests.benchmarks.tables import write_table


def loop(blocks: int = PAIRS or 31, pairs: int = PAIRS or 9) -> None:
    """Our loop in C beside a C program's, by turns on one session of ONNX Runtime: what the loop
    itself adds. Then our loop in Python beside ours in C, a process each."""
    names = ("mlp", "lstm_tiny", "cnn_tiny", "cnn_med", "lstm_med", "char_cnn")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "c_loop.so"
        source = Path(__file__).with_name("c_loop.c")
        compiler = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o"]
        subprocess.run([*compiler, library, source], check=True)
        models = [export(str(_one_node(Path(folder)))), *map(export, names)]
        print(f"p50 in us on one thread, {blocks} blocks by turns on one session\n")
        rows = []
        for model in models:
            runs = max(20, int(0.2e6 / p50_us(model)))  # a fifth of a second
            theirs, ours = _shared(model, "loop", blocks, runs, str(library))
            rows.append((model.name, *_beside(ours / 1e3, theirs / 1e3)))
        write_table(("model", "C", "ours", "more", "ratio"), rows)
        print(f"\nPython's loop beside ours in C, {pairs} pairs of processes\n")
        rows = []
        for model in models:
            ways = [partial(p50_us, model, options={"call": call}) for call in ("c", "python")]
            ours, python = map(np.array, interleaved(pairs, *ways))
            rows.append((model.name, *_beside(python, ours)))
        write_table(("model", "C", "Python", "more", "ratio"), rows)


def _beside(side: np.ndarray, base: np.ndarray) -> tuple[str, str, str, str]:
    more = f"{np.median(side - base):+.2f}"
    ratio = ratio_text(side.tolist(), base.tolist())
    return f"{np.median(base):.2f}", f"{np.median(side):.2f}", more, ratio


def _shared(model: ExportedModel, way: str, blocks: int, runs: int, *more: str) -> np.ndarray:
    """What `one_process` prints, a row for each side."""
    command = ["-m", "tests.benchmarks.one_process", way, str(blocks), str(runs), *more]
    output = output_of(command, json.dumps(to_json(model)))
    return np.array([line.split() for line in output.splitlines()], float).T


def _one_node(folder: Path) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ("batch", 128)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one_node", [x], [y])
    opset = [helper.make_opsetid("", 20)]
    path = folder / "one_node.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def lanes(pairs: int = PAIRS or 9) -> None:
    """Two sessions in one process beside two processes at once: what sharing the interpreter costs.

    Both sides run the same two loops on the same cores and count only the runs that lie within the
    time in which both loops were running; one session alone stands beside them. Last, in one
    process, what of it is the engine's own: two sessions of its two builds share no state of it.
    """
    print(f"ort-cpu, one thread a session, {pairs} interleaved triples; medians, then the ratio of")
    print("two sessions to two processes with its 95 % interval\n")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        smallest = export(str(_one_node(Path(folder))))
        for model in (smallest, *map(export, ("mlp", "cnn_med", "char_cnn"))):
            sides = interleaved(
                pairs, *(partial(side, model) for side in (_alone, _processes, _sessions))
            )
            p50_us = [[float(np.median(ns)) / 1e3 for ns in side] for side in sides]
            mean_ns = [[float(np.mean(ns)) for ns in side] for side in sides]
            middles = (f"{statistics.median(values):.2f}" for values in p50_us)
            # Both sides have two loops: the ratio of runs a second is that of the means, inverted.
            ratios = ratio_text(p50_us[2], p50_us[1]), ratio_text(mean_ns[1], mean_ns[2])
            rows.append((model.name, *middles, *ratios))
        heads = ("p50, us", "one session", "two processes", "two sessions", "ratio", "of runs/s")
        write_table(heads, rows)
        alone, same, each = _shared(smallest, "builds", pairs, 200_000)
    print(f"\n{smallest.name} in one process, p50 over that of a session alone: beside a second of")
    print(f"its build {ratio_text(same.tolist(), alone.tolist())}, beside one of the other build "
          f"{ratio_text(each.tolist(), alone.tolist())}")  # fmt: skip


def _alone(model: ExportedModel) -> np.ndarray:
    return latency_ns(sample(model)[1])


def _sessions(model: ExportedModel) -> np.ndarray:
    return latency_ns(sample(model, options={"sessions": 2})[1])


def _processes(model: ExportedModel) -> np.ndarray:
    """Of two rounds begun together, on the one clock that processes share."""
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(sample, model) for _ in range(2)]
        records = merge_lane_records([future.result()[1] for future in both])
    return latency_ns(counted_records(records))


def open_loop(rounds: int = PAIRS or 5) -> None:
    """How late this program begins runs: after a pause, and in an open loop, in either loop by
    policy. The gap of a paced loop is to be within 1 us of the one asked for, at the median and
    spinning; of an open loop it is what its rows call lateness, of one lane and of two."""
    model = export("mlp")
    print(f"mlp on ort-cpu, {rounds} rounds each: us, medians of rounds\n")
    ways: Mapping[str, dict[str, OptionValue]] = {
        "C": {"call": "c"},
        "Python": {"call": "python"},
        "C, two lanes": {"call": "c", "sessions": 2},
    }
    policies: tuple[WaitPolicy, ...] = ("spin", "hybrid", "sleep")
    write_table(
        ("loop", "policy", "scenario", "late p50", "late p99", "latency p50"),
        (
            (name, policy, scenario, *_late(model, scenario, policy, options, rounds))
            for name, options in ways.items()
            for policy in policies
            for scenario in ("paced:200us", "rate:1000/s", "poisson:1000/s")
        ),
    )


def _late(
    model: ExportedModel,
    name: str,
    policy: WaitPolicy,
    options: dict[str, OptionValue],
    rounds: int,
) -> list[str]:
    """Lateness at p50 and p99 and latency at p50, in us, of a scenario."""
    scenario, found = Scenario.parse(name), []
    for _ in range(rounds):
        _, records = sample(model, scenario=scenario, options=options, wait_policy=policy)
        samples = as_samples(records, "wall", scenario.is_open_loop)
        late_ns = lateness_ns(samples) if scenario.is_open_loop else samples.queue_ns
        found.append((*np.quantile(late_ns, (0.5, 0.99)), np.median(samples.latency_ns)))
    return [f"{figure / 1e3:.2f}" for figure in np.median(found, axis=0)]
