"""Whether ratios depend on how they are measured: in turns of 5 ms and four runs, in turns four
times as long, and in rounds, one process after another, which wants a machine without other work.

ONNX Runtime, OpenVINO and PyTorch with one and two threads, on a network of some 20 us and on one
whose weights do not fit the last level of cache. A table has each ratio of the p50 to that of ONNX
Runtime with as many threads, and by how much the other two ways differ from the first.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.checkout import ROOT

MODELS = ("mlp", "lstm_large")
ROUNDS = "8"
_LOOPS = ("--option", "ort-cpu.call=python", "--option", "openvino-cpu.call=python")
"""PyTorch is timed in Python, and loops are not compared with each other."""
_LENGTHS = "_TURN_S, _RUNS = 0.005, 4", "_TURN_S, _RUNS = 0.020, 16"
"""Of a turn, as they stand in its module, and four times as long."""
_PACKAGES = "app", "assets", "exporters", "runtimes"
Ratios = Mapping[tuple[str, str, str], tuple[float, float, float]]
"""By model, runtime and threads: the ratio and its interval."""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy = folder / "copy"
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, copy / package)
        module = copy / "app/workers/turns.py"
        text = module.read_text(encoding="utf-8")
        assert _LENGTHS[0] in text
        module.write_text(text.replace(*_LENGTHS), encoding="utf-8")
        for model in MODELS:
            usual = ratios(ROOT, folder / f"{model}-turns", model, "turns")
            longer = ratios(copy, folder / f"{model}-longer", model, "turns")
            rounds = ratios(ROOT, folder / f"{model}-rounds", model, "rounds")
            print_table(model, usual, longer, rounds)


def ratios(root: Path, out: Path, model: str, pairing: str) -> Ratios:
    """Of one run of this checkout, each case over that of ONNX Runtime."""
    command = [sys.executable, "-m", "app", "run", model, "--runtimes"]
    command += ["ort-cpu,openvino-cpu,torch-cpu", "--threads", "1,2", "--baseline", "ort-cpu"]
    command += [*_LOOPS, "--preset", "brief", "--rounds", ROUNDS, "--pairing", pairing, "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    subprocess.run(
        [*command, "--out", str(out)], cwd=root, env=environment, check=True, capture_output=True
    )
    with (out / "results.full.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["baseline_p50_verdict"]]
    names = "baseline_p50_ratio", "baseline_p50_ci_low", "baseline_p50_ci_high"
    found: dict[tuple[str, str, str], tuple[float, float, float]] = {}
    for row in rows:
        ratio, low, high = (float(row[name]) for name in names)
        found[row["model"], row["runtime"], row["threads"]] = ratio, low, high
    return found


def print_table(model: str, usual: Ratios, longer: Ratios, rounds: Ratios) -> None:
    load = os.getloadavg()[0]
    sys.stdout.write(f"\n{model}, {ROUNDS} rounds, load {load:.1f}\n\n")
    sys.stdout.write("| runtime, threads | turns | four times as long | rounds |\n")
    sys.stdout.write("| --- | --- | --- | --- |\n")
    for key, (ratio, low, high) in usual.items():
        cells = [f"{ratio:.3f} ({low:.3f} to {high:.3f})"]
        for other in (longer, rounds):
            value, lowest, highest = other[key]
            cells.append(
                f"{value:.3f} ({lowest:.3f} to {highest:.3f}), {100 * (value / ratio - 1):+.1f} %"
            )
        sys.stdout.write(f"| {key[1]}, {key[2]} | {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
