"""Our timed loop beside a C loop on the wheel's own libonnxruntime, in interleaved triples.

The Python package holds its own build of ONNX Runtime, a few per cent apart from the
library beside it; the middle column is our loop on the very library that C calls.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from app.measure.job import Limits
from exporters.types import ExportedModel
from tests.benchmarks.rounds import export, measure

ROUNDS = 9
MODELS = ("lstm_tiny", "cnn_tiny", "mlp", "lstm_med")
LIMITS = Limits(min_s=0.5, max_s=1.0, warmup_min_s=0.2, warmup_max_s=1.0)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, library = _build(Path(folder))
        axes = {"batch": 1}
        models = [export(str(_one_node(Path(folder))), axes)]
        models += [export(name, axes) for name in MODELS]
        sys.stdout.write(
            f"p50 in us, {ROUNDS} interleaved rounds of three processes, one thread\n"
            f"{'model':10} {'C':>9} {'our loop on its library':>34}"
            f" {'graphlap (Python package)':>36}\n"
        )
        for model in models:
            _compare(program, library, model, axes)


def _compare(program: Path, library: Path, model: ExportedModel, axes: dict[str, int]) -> None:
    c, same, ours = [], [], []
    for _ in range(ROUNDS):
        result, latency_ns = measure(model, axes, limits=LIMITS)
        if result.status != "ok":
            raise RuntimeError(result.reason)
        arguments = _arguments(model, axes, max(len(latency_ns), 100))
        ours.append(float(np.median(latency_ns)) / 1e3)
        c.append(_first_ns([str(program), *arguments]) / 1e3)
        loop = [sys.executable, "-m", "tests.benchmarks.same_library", str(library)]
        same.append(_first_ns([*loop, *arguments]) / 1e3)
    sys.stdout.write(
        f"{model.name:10} {statistics.median(c):9.2f} {_against(same, c):>34}"
        f" {_against(ours, c):>36}\n"
    )


def _against(values_us: list[float], base_us: list[float]) -> str:
    """Median, its median difference and ratio to the base, and the range of the ratios."""
    pairs = list(zip(values_us, base_us, strict=True))
    difference = statistics.median(a - b for a, b in pairs)
    ratios = sorted(a / b for a, b in pairs)
    return (
        f"{statistics.median(values_us):.2f} {difference:+.2f} x{statistics.median(ratios):.3f}"
        f" ({ratios[0]:.3f}-{ratios[-1]:.3f})"
    )


def _first_ns(command: list[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def _arguments(model: ExportedModel, axes: dict[str, int], iterations: int) -> list[str]:
    """What c_loop.c is told, the program's own name left out."""
    words = [str(_library()), model.path, "1", str(iterations)]
    for name, size in axes.items():
        words += ["axis", name, str(size)]
    for kind, tensors in (("in", model.inputs), ("out", model.outputs)):
        for tensor in tensors:
            words += [kind, tensor.name, "x".join(map(str, tensor.shape_at(axes)))]
    inputs = [tensor.name for tensor in model.inputs]
    outputs = [tensor.name for tensor in model.outputs]
    for pair in model.states:
        words += ["state", str(outputs.index(pair.output)), str(inputs.index(pair.input))]
    return words


def _library() -> Path:
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    return next((Path(spec.origin).parent / "capi").glob("libonnxruntime.so*"))


def _build(folder: Path) -> tuple[Path, Path]:
    """The C loop as a program and as a library."""
    program, library = folder / "c_loop", folder / "c_loop.so"
    source = Path(__file__).with_name("c_loop.c")
    compiler = [os.environ.get("CC", "cc"), "-O2"]
    subprocess.run([*compiler, "-o", program, source, "-ldl"], check=True)
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return program, library


def _one_node(folder: Path) -> Path:
    spec = (TensorProto.FLOAT, ["batch", 128])
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "one_node",
        [helper.make_tensor_value_info("x", *spec)],
        [helper.make_tensor_value_info("y", *spec)],
    )
    path = folder / "one_node.onnx"
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


if __name__ == "__main__":
    main()
