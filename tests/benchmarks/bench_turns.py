"""Comparisons in turns and in rounds: a graph against a copy of itself, and against one more layer.

Of each way ten runs of five rounds; in each the copy must not be called faster or slower, and the
graph with 21 layers in place of 20 is to be found slower.
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

from tests.checkout import ROOT
from tests.layers import write_layers

TRIES = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        write_layers(scratch / "base.onnx", 20)
        shutil.copy(scratch / "base.onnx", scratch / "copy.onnx")
        write_layers(scratch / "more.onnx", 21)
        for pairing in ("turns", "rounds"):
            words = {"copy": Counter[str](), "more": Counter[str]()}
            for number in range(TRIES):
                for name, (word, text) in compared(scratch, pairing, number).items():
                    words[name][word] += 1
                    sys.stdout.write(f"{pairing} {number + 1} {name}: {word} {text}\n")
                    sys.stdout.flush()
            for name, counts in words.items():
                sys.stdout.write(f"{pairing}, {name}: {dict(sorted(counts.items()))}\n")


def compared(folder: Path, pairing: str, number: int) -> dict[str, tuple[str, str]]:
    """The verdict of each graph against the base, with the ratio of the p50 and the conditions."""
    run = folder / f"{pairing}-{number}" / "run"
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
