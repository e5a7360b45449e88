"""Each GPU runtime keeps the contract, computes and waits on the GPU, and tells its operators."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from app.cases.case import Case
from app.contract.graphs import STEPS, constant, node, streamed
from exporters.codec import to_json
from exporters.diagnostics import codes
from exporters.types import ExportedModel, Reference, TensorSpec, axes_key, load_reference
from runtimes.base import Runtime
from runtimes.cuda import runtime as libraries
from runtimes.cuda.driver import Gpu
from runtimes.options import OptionValue, Settings
from runtimes.session.session_group import compile_sessions
from runtimes.tensorrt.runtime import COMPUTE_CAPABILITIES
from tests.app.workers.operator_times import operator_times
from tests.gpu.conftest import GPU_RUNTIMES, available
from tests.gpu.models import DEVICE_SIZES
from tests.processes import python
from tests.runtimes.contract import RuntimeContract, computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.stepped import bind_apart, run_all_at_once, streams

PROVIDERS = {
    "ort-cuda": "CUDAExecutionProvider",
    "ort-tensorrt": "TensorrtExecutionProvider",
    "tensorrt": "TensorRT",
    "torch-cuda": "eager",
}
SPARE_MIB = 64


@pytest.mark.parametrize("boundary", ["host", "device"])
def test_all_of_the_graph_is_on_the_device(runtime: Runtime, graphs: Graphs, boundary: str) -> None:
    settings = Settings(options={"boundary": boundary})
    for model in (graphs.dense, graphs.step, graphs.wide):
        with runtime.compile(model, {"batch": 1}, settings) as session:
            lane = session.lanes[0]
            execution = session.execution
            assert execution.provider == PROVIDERS[runtime.name]
            assert execution.elsewhere == ()
            assert execution.precision == "fp32"
            assert execution.boundary == boundary
            reference = reference_of(model, 1)
            assert computes(lane, reference, 1e-4)


def test_a_cuda_graph_agrees_and_streams(runtime: Runtime, graphs: Graphs) -> None:
    settings = Settings(options={"boundary": "device", "cuda_graph": True})
    with runtime.compile(graphs.step, {"batch": 1}, settings) as session:
        lane = session.lanes[0]
        assert streams(lane, 1e-4)


def test_a_shape_that_is_an_input_reaches_the_session_at_the_devices_boundary(
    graphs: Graphs,
) -> None:
    runtime = available("ort-cuda")
    x, shape = np.arange(6, dtype=np.float32), np.array([2, 3], np.int64)
    model = graphs.save(
        "shaped",
        [node("Reshape", ["x", "shape"], ["h"]), node("Reshape", ["h", "flat"], ["y"])],
        [TensorSpec("x", "float32", (6,)), TensorSpec("shape", "int64", (2,))],
        [TensorSpec("y", "float32", (6,))],
        [constant("flat", np.array([6], np.int64))],
        references=[({}, Reference({"x": x, "shape": shape}, {"y": x}))],
    )
    with runtime.compile(model, {}, Settings(options={"boundary": "device"})) as session:
        (lane,) = session.lanes
        for sizes in ([2, 3], [3, 2]):
            lane.bind({"x": x, "shape": np.array(sizes, np.int64)})
            lane.run()
            assert lane.outputs()["y"].tolist() == x.tolist()


SCRIPT = """
import json, subprocess, sys
from exporters.codec import from_json
from exporters.types import ExportedModel, load_reference
from runtimes import registry
from runtimes.cuda.driver import uuid_of
from runtimes.options import Settings
gpu = f"GPU-{uuid_of(0)}"  # what CUDA counts first may be another's second
query = ["nvidia-smi", "-i", gpu, "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
runtime = registry.load(sys.argv[1])
assert runtime.availability()
model = from_json(ExportedModel, json.loads(sys.argv[2]))
reference = load_reference(model.references["batch=1"])
used_mib = []
for sessions in (3, 20):
    for _ in range(sessions):
        with runtime.compile(model, {"batch": 1}, Settings(threads=1, cache_dir=sys.argv[3])) as s:
            lane = s.lanes[0]
            lane.bind(reference.inputs)
            lane.run()
    used_mib.append(int(subprocess.run(query, capture_output=True, check=True).stdout))
print(json.dumps(used_mib))
"""


@pytest.mark.parametrize("name", GPU_RUNTIMES)
def test_closed_sessions_give_the_memory_of_the_device_back(
    graphs: Graphs, name: str, tmp_path: Path
) -> None:
    available(name)
    model = json.dumps(to_json(graphs.wide))
    process = python("-c", SCRIPT, name, model, str(tmp_path), check=True)
    memory_before, memory_after = json.loads(process.stdout.splitlines()[-1])
    assert memory_after - memory_before < SPARE_MIB


@pytest.mark.parametrize("name", ["ort-tensorrt", "tensorrt"])
def test_a_kept_engine_is_used_again(graphs: Graphs, name: str, tmp_path: Path) -> None:
    runtime = available(name)
    for state in ("miss", "hit"):
        settings = Settings(cache_dir=str(tmp_path))
        with runtime.compile(graphs.wide, {"batch": 1}, settings) as session:
            assert session.execution.facts["engine_cache"] == state
            assert not {"engine_rebuilt", "engine_not_stored"} & {
                *codes(session.execution.warnings)
            }


@pytest.mark.parametrize("boundary", ["host", "device"])
def test_sessions_at_once_keep_apart_each_in_its_own_state(
    runtime: Runtime, graphs: Graphs, boundary: str
) -> None:
    options: dict[str, OptionValue] = {"boundary": boundary, "sessions": 2}
    if runtime.name == "tensorrt":
        options["streams"] = 2
    settings = Settings(options=options)
    with compile_sessions(runtime, graphs.step, {"batch": 1}, settings) as session:
        assert len(session.lanes) == (4 if runtime.name == "tensorrt" else 2)
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, STEPS, True), strict=True):
            assert np.allclose(results, streamed(np.repeat(x[None], STEPS, axis=0)), atol=1e-4)


class _OnGpu(RuntimeContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return available(self.name)

    def test_availability_and_devices_are_told_without_the_engine(self) -> None:
        available(self.name)
        super().test_availability_and_devices_are_told_without_the_engine()


class TestOrtCuda(_OnGpu):
    name = "ort-cuda"
    # A CUDA graph needs boundary=device, which `test_engines` gives it.
    untried = frozenset({"cuda_graph=True"})


class TestOrtTensorRt(_OnGpu):
    name = "ort-tensorrt"
    # TF32 is fixed for a process once the first session is there.
    untried = frozenset({"cuda_graph=True", "tf32=True"})


class TestTensorRt(_OnGpu):
    name = "tensorrt"
    untried = frozenset({"typing=flags"})


class TestTensorRtRtx(_OnGpu):
    name = "tensorrt-rtx"

    @pytest.fixture
    def runtime(self) -> Runtime:
        runtime = available(self.name)
        if _capability() not in COMPUTE_CAPABILITIES:
            pytest.skip("TensorRT for RTX does not know the GPU that is here")
        return runtime


def _capability() -> tuple[int, int]:
    gpu = Gpu(0)
    gpu.close()
    return gpu.compute_capability


class TestTorchCuda(_OnGpu):
    name = "torch-cuda"
    untried = frozenset({"mode=compile"})


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


def test_torch_tells_its_kernels_and_its_copies(slow: ExportedModel, tmp_path: Path) -> None:
    available("torch-cuda")
    times = operator_times(slow, Case("slow.onnx", "torch-cuda"), GRAPHLAP_CACHE=str(tmp_path))
    products = [op for op in times.ops if op.op == "matmul"]
    assert len(products) == DEVICE_SIZES.layers
    assert all("aten::" not in op.engine_name for op in times.ops), "kernels, not operators"
    copies = [op.engine_name for op in times.ops if op.op == "copy_"]
    assert [name.split(" (")[0] for name in copies] == ["Memcpy HtoD", "Memcpy DtoH"]


@pytest.fixture
def two() -> None:
    if (count := len(libraries.devices())) < 2:
        pytest.skip(f"sessions are dealt over two GPUs, and this machine has {count}")


def test_each_device_computes_what_its_own_lane_was_fed(
    two: None, runtime: Runtime, graphs: Graphs
) -> None:
    model: ExportedModel = graphs.step
    settings = Settings(device="0+1", options={"sessions": 4})
    with compile_sessions(runtime, model, {"batch": 1}, settings) as session:
        assert len(session.lanes) == 4
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, 50), strict=True):
            assert np.allclose(results, streamed(x[None])[0], atol=1e-3)
        memory = session.memory()
    assert memory.device_peak_bytes is None or memory.device_peak_bytes > 0
