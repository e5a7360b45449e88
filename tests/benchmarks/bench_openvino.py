"""Our p50 for `openvino-cpu` beside OpenVINO's own `benchmark_app`, in interleaved pairs.

Both run the same graph synchronously with one request, one stream, one pinned thread and
fp32 kernels; each side is a fresh process each time, and which goes first alternates.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from app.cases.round import Limits
from exporters.types import ExportedModel
from tests.benchmarks.pairs import PAIRS, interleaved, ratio_text
from tests.benchmarks.rounds import export, measure

SECONDS = 2
MODELS = ("mlp", "cnn_med", "char_cnn")
LIMITS = Limits(min_s=SECONDS, max_s=SECONDS + 1, warmup_min_s=0.2, warmup_max_s=2.0)
AXES = {"batch": 1}
_MEDIAN = re.compile(r"Median:\s+([\d.]+) (us|ms)")
# The package reports each use over the network unless it is told not to, or is not there.
_OFFLINE = (
    "import sys; sys.modules['openvino_telemetry'] = None; "
    "from openvino.tools.benchmark.main import main; sys.exit(main())"
)


def main() -> None:
    pairs = PAIRS or 31
    sys.stdout.write(
        f"openvino-cpu against benchmark_app, {pairs} interleaved pairs of {SECONDS} s, "
        "one thread, fp32, p50 in us; the ratio's 95 % interval\n"
        f"{'model':10} {'graphlap':>10} {'theirs':>10}  ratio\n"
    )
    for name in MODELS:
        model = export(name, AXES)
        our_us, their_us = interleaved(pairs, partial(_ours_us, model), partial(_theirs_us, model))
        sys.stdout.write(
            f"{model.name:10} {statistics.median(our_us):10.2f} {statistics.median(their_us):10.2f}"
            f"  {ratio_text(our_us, their_us)}\n"
        )
        sys.stdout.flush()


def _ours_us(model: ExportedModel) -> float:
    result, latency_ns = measure(model, AXES, runtime="openvino-cpu", limits=LIMITS)
    if result.status != "ok" or result.precision != "fp32":
        raise RuntimeError(f"{result.status} in {result.precision}: {result.reason}")
    return float(np.median(latency_ns)) / 1e3


def _theirs_us(model: ExportedModel) -> float:
    shapes = (f"{spec.name}{_shape_text(spec.shape_at(AXES))}" for spec in model.inputs)
    return benchmark_app_us(Path(model.path), ",".join(shapes), SECONDS)


def benchmark_app_us(path: Path, shapes: str, seconds: int) -> float:
    """The median that OpenVINO's program prints of a model, run one at a time on one thread."""
    arguments = {
        "-m": str(path),
        "-d": "CPU",
        "-api": "sync",
        "-hint": "none",
        "-nthreads": "1",
        "-nstreams": "1",
        "-nireq": "1",
        "-pin": "YES",
        "-infer_precision": "f32",
        "-shape": shapes,
        "-t": str(seconds),
    }
    command = [sys.executable, "-c", _OFFLINE]
    command += [text for pair in arguments.items() for text in pair]
    process = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "CI": "true"}
    )
    match = _MEDIAN.search(process.stdout)
    if match is None:
        raise RuntimeError(f"benchmark_app told no median:\n{process.stdout[-2000:]}")
    return float(match[1]) * (1.0 if match[2] == "us" else 1e3)


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


if __name__ == "__main__":
    main()
