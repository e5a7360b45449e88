"""The CUDA and TensorRT providers: no CPU latency ever stands under their names.

There is no GPU here. So the providers are made to fall back, which is what ONNX Runtime does
by itself, and the session is exercised on ONNX Runtime's host memory in place of a GPU's.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import onnxruntime
import pytest

from exporters.types import ExportedModel
from runtimes.base import Available, Device, Execution, NodePlacement, Settings
from runtimes.cuda import driver, libraries
from runtimes.faults import NotAvailable, RunFault, Unsupported
from runtimes.options import all_options
from runtimes.ort import execution as ort_execution
from runtimes.ort import gpu_runtime
from runtimes.ort.gpu_open import Providers
from runtimes.ort.gpu_runtime import OrtCuda, OrtTensorRt, mark_shape_arithmetic
from runtimes.ort.gpu_session import OrtGpuSession
from runtimes.ort.operators import Recording
from runtimes.ort.trt_cache import cache_warning, engine_folder
from runtimes.session.side_by_side import SideBySide
from tests.runtimes.abreast import bind_apart, run_all_at_once
from tests.runtimes.contract import agrees, reference_of
from tests.runtimes.graphs import BATCHES, STEPS, Graphs, node, streamed
from tests.runtimes.ort.test_runtime import vector
from tests.runtimes.torch_factories import CHANNELS

CPU = "CPUExecutionProvider"


class HostMemory:
    """ONNX Runtime's own CPU memory where a GPU's would be."""

    kind, index = "cpu", 0

    def __init__(self) -> None:
        self.threads = {threading.get_ident()}

    def make_current(self) -> None:
        self.threads.add(threading.get_ident())

    def copy(self, target: int, source: int, size: int) -> None:
        assert threading.get_ident() in self.threads, "the driver refuses such a thread"
        ctypes.memmove(target, source, size)

    def close(self) -> None:
        pass


@pytest.fixture(params=["host", "device"])
def boundary(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def on_host(
    model: ExportedModel, batch: int, boundary: str, profile: Recording | None = None
) -> OrtGpuSession:
    options = onnxruntime.SessionOptions()
    options.add_free_dimension_override_by_name("batch", batch)
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile.prefix)
    session = onnxruntime.InferenceSession(model.path, options, providers=[CPU])
    execution = Execution(CPU, "fp32", "host", "", boundary=boundary)  # type: ignore[arg-type]
    return OrtGpuSession(session, model, {"batch": batch}, execution, HostMemory(), profile)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", ["dense", "step", "lookup"])
def test_both_boundaries_agree_and_a_run_that_writes_nothing_shows(
    graphs: Graphs, name: str, batch: int, boundary: str
) -> None:
    model: ExportedModel = getattr(graphs, name)
    reference = reference_of(model, batch)
    with on_host(model, batch, boundary) as session:
        session.bind(reference.inputs)
        session.run()
        assert agrees(session.outputs(), reference)
        session.poison()
        poisoned = session.outputs()
        for output, wanted in reference.outputs.items():
            assert not np.array_equal(poisoned[output], wanted)
        session.run()
        assert agrees(session.outputs(), reference)


def test_what_is_bound_between_runs_is_what_the_next_run_reads(
    graphs: Graphs, boundary: str
) -> None:
    with on_host(graphs.dense, 1, boundary) as session:
        results = []
        for value in (1.0, 2.0):
            session.bind({"x": np.full((1, CHANNELS), value, np.float32)})
            session.run()
            results.append(session.outputs()["y"])
    assert np.allclose(results[1], 2 * results[0])
    assert results[0].any()


def test_sessions_at_once_go_on_each_from_its_own_state(graphs: Graphs, boundary: str) -> None:
    with SideBySide([on_host(graphs.step, 1, boundary) for _ in range(2)]) as session:
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, STEPS, True), strict=True):
            assert np.allclose(results, streamed(np.repeat(x[None], STEPS, axis=0)), atol=1e-5)


def test_state_is_advanced_where_the_run_reads_it(graphs: Graphs, boundary: str) -> None:
    zero, x = np.zeros((1, CHANNELS), np.float32), np.ones((1, CHANNELS), np.float32)
    with on_host(graphs.step, 1, boundary) as session:
        session.bind({"x": x, "h": zero, "older": zero})
        results = []
        for _ in range(STEPS):
            session.run()
            results.append(session.outputs()["y"])
            session.advance_state()
    assert np.allclose(results, streamed(np.stack([x] * STEPS)), atol=1e-5)


@pytest.mark.alone
def test_a_profile_tells_the_operators_and_leaves_no_file(graphs: Graphs, boundary: str) -> None:
    profile, reference = Recording(), reference_of(graphs.wide, 1)
    with on_host(graphs.wide, 1, boundary, profile) as session:
        session.bind(reference.inputs)
        session.run()
        begun = time.perf_counter()
        ops = session.profile_ops(20)
        whole_us = (time.perf_counter() - begun) * 1e6 / 20
        assert profile.folder.is_dir()
        session.run()
        assert agrees(session.outputs(), reference)
    assert not profile.folder.exists()
    assert all(op.node and op.engine_name == f"{op.op} of {CPU}" for op in ops)
    assert 0 < sum(op.time_us for op in ops) <= whole_us


def test_a_session_to_be_timed_tells_no_operators(graphs: Graphs, boundary: str) -> None:
    with on_host(graphs.dense, 1, boundary) as session, pytest.raises(Unsupported):
        session.profile_ops(1)


def test_a_closed_session_cannot_run(graphs: Graphs, boundary: str) -> None:
    session = on_host(graphs.dense, 1, boundary)
    session.close()
    session.close()
    with pytest.raises(RunFault):
        session.run()


def test_an_output_without_a_fixed_shape_is_unsupported(graphs: Graphs) -> None:
    model = graphs.save(
        "unshaped",
        [node("NonZero", ["x"], ["y"])],
        [vector("x", "float32", "batch", 4)],
        [vector("y", "int64", 2, "found")],
        axes={"batch": 1},
    )
    with pytest.raises(Unsupported, match="'y'"):
        on_host(model, 1, "host")


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checks before the session say that all is well."""
    for runtime in (OrtCuda, OrtTensorRt):
        monkeypatch.setattr(runtime, "availability", lambda self: Available("1"))
        monkeypatch.setattr(runtime, "devices", lambda self: (Device("0", "GPU"),))
    monkeypatch.setattr(libraries, "infer_version", lambda soname: "10.16.1")
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    gpu_runtime._tf32_of_process.clear()
    yield
    gpu_runtime._tf32_of_process.clear()


def loads(provider: str) -> bool:
    """Whether the provider works on this machine, which the tests of `tests/gpu` are for."""
    return libraries.devices() != () and provider in onnxruntime.get_available_providers()


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("runtime", [OrtCuda(), OrtTensorRt()], ids=["cuda", "tensorrt"])
@pytest.mark.parametrize("boundary", ["host", "device"])
def test_a_provider_that_falls_back_is_unavailable_with_the_loader_words(
    graphs: Graphs, runtime: OrtCuda | OrtTensorRt, boundary: str
) -> None:
    if loads(runtime.provider):
        pytest.skip("this machine has what the provider needs")
    settings = Settings(options={"boundary": boundary})
    with pytest.raises(NotAvailable) as raised:
        runtime.compile(graphs.dense, {"batch": 1}, settings)
    assert runtime.provider in str(raised.value)
    assert "cannot open shared object file" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.remedy


@pytest.mark.usefixtures("pretended")
def test_a_session_that_quietly_dropped_the_provider_is_not_accepted(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = onnxruntime.InferenceSession

    def quiet(path: str, options: object, **_: object) -> onnxruntime.InferenceSession:
        return real(path, options, providers=[CPU])

    monkeypatch.setattr(onnxruntime, "InferenceSession", quiet)
    for runtime in (OrtCuda(), OrtTensorRt()):
        with pytest.raises(NotAvailable, match=runtime.provider):
            runtime.compile(graphs.dense, {"batch": 1}, Settings())


@pytest.mark.usefixtures("pretended")
def test_a_cuda_graph_needs_the_device_boundary(graphs: Graphs) -> None:
    for runtime in (OrtCuda(), OrtTensorRt()):
        with pytest.raises(Unsupported, match="boundary=device"):
            runtime.refuse(graphs.dense, {"batch": 1}, Settings(options={"cuda_graph": True}))
        options = {"cuda_graph": True, "boundary": "device"}
        runtime.refuse(graphs.dense, {"batch": 1}, Settings(options=options))


@pytest.mark.usefixtures("pretended")
def test_int8_is_refused_where_the_provider_would_compute_fp32(graphs: Graphs) -> None:
    with pytest.raises(Unsupported, match="int8"):
        OrtCuda().refuse(graphs.dense, {"batch": 1}, Settings(precision="int8"))
    OrtTensorRt().refuse(graphs.dense, {"batch": 1}, Settings(precision="int8"))


@pytest.mark.usefixtures("pretended")
def test_tf32_is_off_unless_asked_and_fixed_for_a_process() -> None:
    gpu_runtime.set_tf32_of_process(False)
    assert os.environ["NVIDIA_TF32_OVERRIDE"] == "0"
    gpu_runtime.set_tf32_of_process(False)
    with pytest.raises(Unsupported, match="process"):
        gpu_runtime.set_tf32_of_process(True)


def test_integer_arithmetic_elsewhere_is_listed_and_does_not_count() -> None:
    provider = OrtCuda.provider
    placement = mark_shape_arithmetic(
        (
            NodePlacement("conv", "Conv", provider, "fp32"),
            NodePlacement("glue", "Gather", CPU, "integer"),
            NodePlacement("shape", "Shape", CPU, "fp32"),
            NodePlacement("resize", "Resize", CPU, "fp32"),
            NodePlacement("unread", "Gather", CPU, "unknown"),
        ),
        provider,
    )
    execution = Execution(provider, "fp32", "GPU", "", placement=placement)
    assert [n.node for n in execution.placement] == ["conv", "glue", "shape", "resize", "unread"]
    assert [n.node for n in execution.elsewhere] == ["resize", "unread"]


def test_a_graph_on_two_providers_is_profiled_for_its_types(graphs: Graphs) -> None:
    """The assignment alone does not tell float work on the CPU from arithmetic on shapes."""
    model = graphs.save(
        "split",
        [node("Shape", ["x"], ["s"]), node("Add", ["s", "s"], ["t"]), node("Relu", ["x"], ["y"])],
        [vector("x", "float32", "batch", 4)],
        [vector("y", "float32", "batch", 4), vector("t", "int64", 2)],
        axes={"batch": 1},
    )
    real = onnxruntime.InferenceSession(model.path, providers=[CPU])

    def part(provider: str, op: str) -> SimpleNamespace:
        nodes = [SimpleNamespace(name=f"{op}_node", op_type=op, domain="")]
        return SimpleNamespace(ep_name=provider, get_nodes=lambda: nodes)

    session = SimpleNamespace(
        get_inputs=real.get_inputs,
        get_outputs=real.get_outputs,
        get_provider_graph_assignment_info=lambda: [
            part(OrtCuda.provider, "Relu"),
            part(CPU, "Add"),
        ],
    )

    def open_profiled(prefix: Path) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(prefix)
        return onnxruntime.InferenceSession(model.path, options, providers=[CPU])

    executed = ort_execution.read(
        session, open_profiled, lambda: {"x": np.ones((1, 4), np.float32)}
    )
    marked = mark_shape_arithmetic(executed.placement, OrtCuda.provider)
    assert {node.op: node.counts for node in marked} == {"Shape": False, "Add": False, "Relu": True}


@pytest.mark.parametrize(
    ("runtime", "library"),
    [
        (OrtCuda(), "libonnxruntime_providers_cuda.so"),
        (OrtTensorRt(), "libonnxruntime_providers_tensorrt.so"),
    ],
    ids=["cuda", "tensorrt"],
)
@pytest.mark.usefixtures("pretended")
def test_the_provider_knows_every_option_by_the_name_that_it_gets(
    graphs: Graphs, runtime: OrtCuda | OrtTensorRt, library: str
) -> None:
    """ONNX Runtime's provider library holds the names; an unknown one would fail on a GPU."""
    binary = (Path(onnxruntime.__path__[0]) / "capi" / library).read_bytes()
    options = {option.name: option.default for option in runtime.options}
    settings = Settings(cache_dir=str(graphs.folder))
    (_, wanted), *_ = runtime._providers(graphs.dense, {"batch": 1}, settings, options, 1)
    assert wanted["device_id"] == "1"
    for name in wanted:
        assert name.encode() in binary, name


@pytest.mark.usefixtures("pretended")
def test_precision_flags_follow_the_case(graphs: Graphs) -> None:
    runtime = OrtTensorRt()
    options = {option.name: option.default for option in runtime.options}
    flags = {}
    for precision in runtime.precisions:
        settings = Settings(precision=precision)
        (_, wanted), *_ = runtime._providers(graphs.dense, {"batch": 1}, settings, options, 0)
        flags[precision] = (wanted["trt_fp16_enable"], wanted["trt_int8_enable"])
    assert flags == {"fp32": ("0", "0"), "fp16": ("1", "0"), "int8": ("0", "1")}


@pytest.mark.usefixtures("pretended")
def test_an_engine_folder_that_cannot_be_made_is_said(graphs: Graphs, tmp_path: Path) -> None:
    runtime = OrtTensorRt()
    options = {option.name: option.default for option in runtime.options}
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    for folder, kept in ((tmp_path / "cache", True), (blocked, False)):
        settings = Settings(cache_dir=str(folder))
        providers = runtime._providers(graphs.dense, {"batch": 1}, settings, options, 0)
        assert ("trt_engine_cache_path" in providers[0][1]) is kept
        assert (cache_warning(providers, settings) == ()) is kept


class _OnHost(OrtTensorRt):
    """ONNX Runtime's CPU provider in the place of TensorRT's, with all that is around it."""

    provider = CPU
    asked: ClassVar[list[dict[str, str]]] = []

    def _providers(self, *arguments: Any) -> Providers:
        ((_, wanted), *_) = super()._providers(*arguments)
        self.asked.append(wanted)
        return [(CPU, {})]


@pytest.mark.usefixtures("pretended")
def test_a_profile_whose_launches_would_not_wait_is_refused(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting, a kernel's time on the host is that of its launch: flattering, and wrong."""
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING", raising=False)
    for runtime in (OrtCuda(), OrtTensorRt()):
        with pytest.raises(Unsupported, match="CUDA_LAUNCH_BLOCKING=1"):
            runtime.compile(graphs.dense, {"batch": 1}, Settings(profile=True))
        with monkeypatch.context() as patch:
            patch.setenv("CUDA_LAUNCH_BLOCKING", "1")
            runtime.refuse(graphs.dense, {"batch": 1}, Settings(profile=True))


@pytest.mark.usefixtures("pretended", "driver")
def test_a_profile_runs_the_kept_engine_and_keeps_none_of_its_own(
    graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    monkeypatch.setattr(_OnHost, "asked", [])
    runtime = _OnHost()
    settings = Settings(cache_dir=str(tmp_path), profile=True)
    kept = engine_folder(graphs.dense, {"batch": 1}, settings, all_options(runtime, {}))
    assert kept is not None
    (kept / "graph.engine").write_bytes(b"timed")
    (kept.parent / "sm90.timing").write_bytes(b"timings")

    with runtime.compile(graphs.dense, {"batch": 1}, settings) as session:
        (wanted,) = runtime.asked
        own = Path(wanted["trt_engine_cache_path"])
        assert (own / "graph.engine").read_bytes() == b"timed"
        assert (own.parent / "sm90.timing").read_bytes() == b"timings"
        (own / "graph.engine").write_bytes(b"tuned while launches waited")
        session.bind(reference_of(graphs.dense, 1).inputs)
        assert session.profile_ops(2)
    assert not own.exists()
    assert (kept / "graph.engine").read_bytes() == b"timed"
    assert tmp_path not in own.parents


@pytest.mark.usefixtures("pretended", "driver")
def test_a_profiled_provider_is_asked_for_no_cuda_graph(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    monkeypatch.setattr(_OnHost, "asked", [])
    monkeypatch.setattr(driver.Gpu, "kind", "cpu")
    options = {"boundary": "device", "cuda_graph": True}
    for profile, asked in ((False, "1"), (True, "0")):
        settings = Settings(options=options, profile=profile)
        _OnHost().compile(graphs.dense, {"batch": 1}, settings).close()
        assert _OnHost.asked[-1]["trt_cuda_graph_enable"] == asked
