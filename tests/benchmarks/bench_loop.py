"""Our timed loop beside a C loop on the wheel's own libonnxruntime, in interleaved pairs."""

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

PAIRS = 9
MODELS = ("lstm_tiny", "mlp", "lstm_med")
LIMITS = Limits(min_s=0.5, max_s=1.0, warmup_min_s=0.2, warmup_max_s=1.0)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = _build(Path(folder))
        axes = {"batch": 1}
        models = [export(str(_one_node(Path(folder))), axes)]
        models += [export(name, axes) for name in MODELS]
        sys.stdout.write(
            f"timed loop against C, {PAIRS} interleaved pairs of processes, p50 in us\n"
            f"{'model':16} {'graphlap':>9} {'C':>9} {'difference':>11} {'ratio':>7}"
            f" {'pairs from':>11} {'to':>7}\n"
        )
        for model in models:
            _compare(program, model, axes)


def _compare(program: Path, model: ExportedModel, axes: dict[str, int]) -> None:
    ours, theirs = [], []
    for _ in range(PAIRS):
        result, latency_ns = measure(model, axes, limits=LIMITS)
        if result.status != "ok":
            raise RuntimeError(result.reason)
        ours.append(float(np.median(latency_ns)))
        theirs.append(_c_p50_ns(program, model, axes, len(latency_ns)))
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    difference = statistics.median(a - b for a, b in zip(ours, theirs, strict=True))
    sys.stdout.write(
        f"{model.name:16} {statistics.median(ours) / 1e3:9.2f}"
        f" {statistics.median(theirs) / 1e3:9.2f} {difference / 1e3:+11.2f}"
        f" {statistics.median(ratios):7.3f} {ratios[0]:11.3f} {ratios[-1]:7.3f}\n"
    )


def _c_p50_ns(program: Path, model: ExportedModel, axes: dict[str, int], iterations: int) -> float:
    command = [str(program), str(_library()), model.path, "1", str(max(iterations, 100))]
    for name, size in axes.items():
        command += ["axis", name, str(size)]
    for kind, tensors in (("in", model.inputs), ("out", model.outputs)):
        for tensor in tensors:
            command += [kind, tensor.name, "x".join(map(str, tensor.shape_at(axes)))]
    inputs = [tensor.name for tensor in model.inputs]
    outputs = [tensor.name for tensor in model.outputs]
    for pair in model.states:
        command += ["state", str(outputs.index(pair.output)), str(inputs.index(pair.input))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def _library() -> Path:
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    return next((Path(spec.origin).parent / "capi").glob("libonnxruntime.so*"))


def _build(folder: Path) -> Path:
    program = folder / "c_loop"
    source = Path(__file__).with_name("c_loop.c")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-o", program, source, "-ldl"], check=True)
    return program


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
