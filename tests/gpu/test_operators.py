"""Operator times on a GPU: of the kernels and not of their launches, by the graph's names."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from app.cases.case import Case
from app.contract.graphs import node, weights
from exporters.types import ExportedModel, Reference, TensorSpec, axes_key, load_reference
from runtimes.base import Runtime
from runtimes.options import Settings
from tests.app.workers.operator_times import operator_times
from tests.gpu.conftest import available
from tests.gpu.models import DEVICE_SIZES
from tests.runtimes.graphs import Graphs

DEVICE = {"boundary": "device"}
ON_THE_DEVICES_CLOCK = frozenset({"tensorrt", "torch-cuda"})
SLACK = 1.25
"""The clock of a GPU under load differs by a tenth or two from one process to the next; 24
launches that are waited for add about a hundredth. The launches alone would be far below."""


def median_run_us(runtime: Runtime, model: ExportedModel, cache: Path) -> float:
    with runtime.compile(model, {}, Settings(options=DEVICE, cache_dir=str(cache))) as session:
        lane = session.lanes[0]
        lane.bind(load_reference(model.references[axes_key({})]).inputs)
        times = []
        for _ in range(30):
            start_ns = time.perf_counter_ns()
            lane.run()
            times.append(time.perf_counter_ns() - start_ns)
    return float(np.median(times[10:])) / 1e3


@pytest.mark.timeout(900)
def test_the_operators_take_what_the_run_takes_and_no_kept_engine_changes(
    runtime: Runtime, slow: ExportedModel, tmp_path: Path
) -> None:
    engines = tmp_path / "engines"
    run_us = median_run_us(runtime, slow, engines)
    engine_contents = {path: path.read_bytes() for path in engines.rglob("*") if path.is_file()}
    case = Case("slow.onnx", runtime.name, options=DEVICE)
    times = operator_times(slow, case, GRAPHLAP_CACHE=str(tmp_path))
    assert times.reason == ""
    assert (times.clock == "device") == (runtime.name in ON_THE_DEVICES_CLOCK)
    assert run_us / SLACK < times.total_us < run_us * SLACK
    assert {
        path: path.read_bytes() for path in engines.rglob("*") if path.is_file()
    } == engine_contents


def test_the_nodes_have_the_graphs_names(slow: ExportedModel, tmp_path: Path) -> None:
    names = {layer.name for layer in onnx.load(slow.path).graph.node}
    available("ort-cuda")
    cuda = operator_times(slow, Case("slow.onnx", "ort-cuda"), GRAPHLAP_CACHE=str(tmp_path))
    assert {op.node for op in cuda.ops} == names
    available("tensorrt")
    tensorrt = operator_times(slow, Case("slow.onnx", "tensorrt"), GRAPHLAP_CACHE=str(tmp_path))
    assert names <= {part for op in tensorrt.ops for part in op.node.split(" + ")}
    assert all(op.op != "unknown" for op in tensorrt.ops), "every layer is one that is described"


def test_what_a_provider_fused_is_one_operator(slow: ExportedModel, tmp_path: Path) -> None:
    available("ort-tensorrt")
    times = operator_times(slow, Case("slow.onnx", "ort-tensorrt"), GRAPHLAP_CACHE=str(tmp_path))
    assert len(times.ops) == 1


def test_a_node_on_the_host_stands_between_its_copies(graphs: Graphs, tmp_path: Path) -> None:
    runtime = available("ort-cuda")
    x = np.abs(weights(3, 3))
    model = graphs.save(
        "on_the_host",
        [node("Relu", ["x"], ["h"]), node("Det", ["h"], ["d"]), node("Exp", ["d"], ["y"])],
        [TensorSpec("x", "float32", (3, 3))],
        [TensorSpec("y", "float32", ())],
        references=[({}, Reference({"x": x}, {"y": np.exp(np.linalg.det(x))}))],
    )
    with runtime.compile(model, {}, Settings()) as session:
        if "Det" not in {operator.op for operator in session.execution.elsewhere}:
            pytest.skip("this release of ONNX Runtime computes a determinant on the GPU")
    times = operator_times(
        model, Case("on_the_host.onnx", "ort-cuda"), GRAPHLAP_CACHE=str(tmp_path)
    )
    assert {"Relu", "MemcpyToHost", "Det"} <= {op.op for op in times.ops}


def test_torch_tells_its_kernels_and_its_copies(slow: ExportedModel, tmp_path: Path) -> None:
    available("torch-cuda")
    times = operator_times(slow, Case("slow.onnx", "torch-cuda"), GRAPHLAP_CACHE=str(tmp_path))
    products = [op for op in times.ops if op.op == "matmul"]
    assert len(products) == DEVICE_SIZES.layers
    assert all("aten::" not in op.engine_name for op in times.ops), "kernels, not operators"
    copies = [op.engine_name for op in times.ops if op.op == "copy_"]
    assert [name.split(" (")[0] for name in copies] == ["Memcpy HtoD", "Memcpy DtoH"]


@pytest.mark.timeout(900)
def test_compiled_torch_tells_the_kernels_that_it_made(graphs: Graphs, tmp_path: Path) -> None:
    available("torch-cuda")
    case = Case("dense.onnx", "torch-cuda", axes={"batch": 1}, options={"mode": "compile"})
    times = operator_times(graphs.dense, case, GRAPHLAP_CACHE=str(tmp_path))
    assert any(op.engine_name.startswith("triton_") for op in times.ops), times.reason
