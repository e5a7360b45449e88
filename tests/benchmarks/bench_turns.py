"""Comparisons in turns and in rounds: three networks against copies of themselves, and against ones
with a few nodes more, pairs that negate the output twice.

Of each network ten runs of five rounds in turns, of the first as many in rounds; a copy must not be
called faster or slower, and what has more nodes is to be found slower.
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
from pathlib import Path

import onnx
from onnx import helper

from app.runs.reader import read_run
from tests.checkout import ROOT

TRIES = 10
PAIRS = {"mlp": 2, "cnn_tiny": 4, "dense_128_32": 1}
"""By network how many pairs of nodes make it about 5 % slower, or as little as one pair can."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for network, pairs in PAIRS.items():
            scratch = Path(folder) / network
            write_graphs(scratch, network, pairs)
            for pairing in ("turns", "rounds") if network == next(iter(PAIRS)) else ("turns",):
                words = {"copy": Counter[str](), "more": Counter[str]()}
                for number in range(TRIES):
                    for name, (word, text) in compared(scratch, pairing, number).items():
                        words[name][word] += 1
                        sys.stdout.write(
                            f"{network} {pairing} {number + 1} {name}: {word} {text}\n"
                        )
                        sys.stdout.flush()
                for name, counts in words.items():
                    sys.stdout.write(
                        f"{network}, {pairing}, {name}: {dict(sorted(counts.items()))}\n"
                    )


def write_graphs(folder: Path, network: str, pairs: int) -> None:
    """A network of the catalogue as base.onnx, its copy, and one with so many pairs of nodes."""
    folder.mkdir()
    words = ["--runtimes", "ort-cpu", "--preset", "glance", "--rounds", "1", "--quiet"]
    command = [sys.executable, "-m", "app", "run", network, *words, "--out", str(folder / "export")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    run = read_run(folder / "export")
    exported = run.model_of(run.cases[0])
    assert exported is not None
    for name in ("base.onnx", "copy.onnx"):
        shutil.copy(exported.path, folder / name)
    model = onnx.load(exported.path)
    output = model.graph.output[0].name
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = ["negated0" if name == output else name for name in names]
    for number in range(2 * pairs):
        after = output if number == 2 * pairs - 1 else f"negated{number + 1}"
        model.graph.node.append(helper.make_node("Neg", [f"negated{number}"], [after]))
    onnx.save(model, folder / "more.onnx")


def compared(folder: Path, pairing: str, number: int) -> dict[str, tuple[str, str]]:
    """The verdict of each graph against the base, with the ratio of the p50 and the conditions."""
    run = folder / f"{pairing}-{number}"
    command = [sys.executable, "-m", "app", "run", "base.onnx", "copy.onnx", "more.onnx", "--quiet"]
    command += ["--baseline", "base.onnx", "--runtimes", "ort-cpu", "--preset", "brief"]
    command += ["--rounds", "5", "--pairing", pairing, "--out", str(run)]
    load, start_s = os.getloadavg()[0], time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    seconds = time.monotonic() - start_s
    with (run / "results.full.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["baseline_p50_verdict"]]
    return {
        Path(row["model"]).stem: (
            row["baseline_p50_verdict"],
            "{baseline_p50_ratio} ({baseline_p50_ci_low} to {baseline_p50_ci_high})".format(**row)
            + f", load {load:.1f}, {seconds:.0f} s",
        )
        for row in rows
    }
