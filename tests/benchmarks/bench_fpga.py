"""How long the simulated card takes to answer: timing a graph, and computing its outputs."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from exporters.types import axes_key, load_reference
from runtimes.fpga import cards
from runtimes.fpga.card import compiler, timing
from runtimes.fpga.graph import importer
from runtimes.fpga.runtime import Fpga
from runtimes.options import Settings
from tests.benchmarks.rounds import export

SEEDS = ("cnn_tiny", "cnn_med", "lstm_tiny", "lstm_med_deep", "lstm_large", "mlp")
LAYERS = 300
RUNS = 9


def main() -> None:
    card = cards.load_card("v80")
    axes = {"batch": 1}
    models = {name: export(name, axes) for name in SEEDS}
    for name, model in models.items():
        graph = importer.load(model.path, axes)
        compile_text = _ms(lambda: timing.latency_us(compiler.compile_graph(graph, card)))  # noqa: B023
        _say(f"{name}: compiled and timed in {compile_text} (aim < 10 ms)")
    with tempfile.TemporaryDirectory() as folder:
        path = _deep(Path(folder))
        start_s = time.perf_counter()
        graph = importer.load(path, {})
        program = compiler.compile_graph(graph, card)
        latency = timing.latency_us(program)
        _say(
            f"{LAYERS} dense layers: read, compiled and timed in "
            f"{time.perf_counter() - start_s:.2f} s (aim < 1 s); {latency:.1f} us simulated"
        )
    model = models["lstm_large"]
    with Fpga().compile(model, axes, Settings(device="v80")) as session:
        lane = session.lanes[0]
        lane.bind(load_reference(model.references[axes_key(axes)]).inputs)
        lane.run()
        _say(f"lstm_large: one step computed in {_ms(lane.run)} (aim < 100 ms)")


def _ms(call: Callable[[], object]) -> str:
    times_ms = []
    for _ in range(RUNS):
        start_s = time.perf_counter()
        call()
        times_ms.append((time.perf_counter() - start_s) * 1e3)
    return f"{statistics.median(times_ms):.2f} ms, {min(times_ms):.2f} to {max(times_ms):.2f}"


def _deep(folder: Path) -> Path:
    """A chain of dense layers of 64 with ReLU, which fits a V80."""
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8
    nodes, constants = [], []
    for layer in range(LAYERS):
        constants.append(numpy_helper.from_array(weights, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [f"x{layer}", f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"x{layer + 1}"]))
    spec = (TensorProto.FLOAT, [1, 64])
    graph = helper.make_graph(
        nodes,
        "deep",
        [helper.make_tensor_value_info("x0", *spec)],
        [helper.make_tensor_value_info(f"x{LAYERS}", *spec)],
        constants,
    )
    path = folder / "deep.onnx"
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
