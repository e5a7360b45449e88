"""Comparisons in turns: three networks against copies of themselves, and against ones with a few
nodes more, pairs that negate the output twice.

Of each network ten runs against its copy and ten against one that takes about 5 % longer, eight
rounds each: none may be wrong, the copy is to be `same`, what has more nodes `slower`. Then one
that takes about 2 % longer, with a threshold of 0.5 %, until it is decided or four minutes are
over. The load of the machine stands beside each.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx import helper

from app.runs.reader import read_run
from tests.checkout import ROOT

TRIES, FINE_TRIES = 10, 3
PAIRS = {"mlp": 2, "cnn_tiny": 4, "dense_128_32": 1}
"""By network how many pairs of nodes make it about 5 % slower, or as little as one pair can."""
FINE = "cnn_tiny"
"""The network of which one pair takes about 2 %."""
USUAL = ("--rounds", "8")
UNTIL_DECIDED = ("--threshold", "0.5%", "--sequential", "--rounds", "60", "--budget", "4m")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for network, pairs in PAIRS.items():
            scratch = Path(folder) / network
            write_graphs(scratch, network, pairs)
            compare(network, scratch, "copy", TRIES, USUAL)
            compare(network, scratch, "more", TRIES, USUAL)
            if network == FINE:
                compare(network, scratch, "little", FINE_TRIES, UNTIL_DECIDED)


def compare(network: str, folder: Path, name: str, tries: int, words: Sequence[str]) -> None:
    """Print each verdict of the graph of this name, then how often there was which."""
    counts = Counter[str]()
    for number in range(tries):
        start_s, load = time.monotonic(), os.getloadavg()[0]
        word, ratio, low, high = compared(folder, name, words, f"{name}-{number}")
        counts[word] += 1
        sys.stdout.write(
            f"{network} {name} {number + 1}: {word} {ratio:.3f} ({low:.3f} to {high:.3f}), half "
            f"width {50 * (high - low) / ratio:.1f} %, {time.monotonic() - start_s:.0f} s, "
            f"load {load:.1f}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{network}, {name}: {dict(sorted(counts.items()))}\n")


def write_graphs(folder: Path, network: str, pairs: int) -> None:
    """A network of the catalogue as base.onnx, its copy, and two with more nodes: `pairs` and one
    pair."""
    folder.mkdir()
    base = export_network(folder, network)
    shutil.copy(base, folder / "copy.onnx")
    for name, count in (("more", pairs), ("little", 1)):
        add_nodes(base, folder / f"{name}.onnx", "Neg", 2 * count)


def export_network(folder: Path, network: str) -> Path:
    """A network of the catalogue as base.onnx in this folder."""
    words = ["--runtimes", "ort-cpu", "--preset", "glance", "--rounds", "1", "--quiet"]
    command = [sys.executable, "-m", "app", "run", network, *words, "--out", str(folder / "export")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    run = read_run(folder / "export")
    exported = run.model_of(run.cases[0])
    assert exported is not None
    return Path(shutil.copy(exported.path, folder / "base.onnx"))


def add_nodes(base: Path, path: Path, node_type: str, count: int) -> None:
    """A model with so many nodes of one input after its output, written to `path`."""
    model = onnx.load(base)
    output = model.graph.output[0].name
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = ["more0" if value == output else value for value in names]
    for number in range(count):
        after = output if number == count - 1 else f"more{number + 1}"
        model.graph.node.append(helper.make_node(node_type, [f"more{number}"], [after]))
    onnx.save(model, path)


def compared(
    folder: Path, name: str, words: Sequence[str], out: str, runtime: str = "ort-cpu"
) -> tuple[str, float, float, float]:
    """The verdict of a graph against the base, and the ratio of the p50 with its interval."""
    command = [sys.executable, "-m", "app", "run", "base.onnx", f"{name}.onnx", "--quiet"]
    command += ["--baseline", "base.onnx", "--runtimes", runtime, "--preset", "brief"]
    command += [*words, "--out", out]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    with (folder / out / "results.full.csv").open(encoding="utf-8", newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["baseline_p50_verdict"])
    ratio, low, high = (float(row[f"baseline_p50_{end}"]) for end in ("ratio", "ci_low", "ci_high"))
    return row["baseline_p50_verdict"], ratio, low, high
