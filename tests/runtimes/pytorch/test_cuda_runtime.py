"""The session of `torch-cuda` over the host's memory, its operator times and its refusals."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd.profiler_util import FunctionEvent

from app.workers.lanes import queued_timing
from app.workers.loop import Block
from app.workers.timing import loop_of
from exporters.diagnostics import codes
from exporters.types import ExportedModel, Factory, TensorSpec
from runtimes.base import Available, Lane, Unavailable
from runtimes.calls import TimedCalls
from runtimes.errors import OutOfMemory, RuntimeFault, Unsupported
from runtimes.execution import OpTime
from runtimes.options import OptionValue, Settings
from runtimes.pytorch import runtime
from runtimes.pytorch import session as operators
from runtimes.pytorch.cuda_session import CudaPlace, Streams, TorchCudaLane, TorchCudaSession
from runtimes.pytorch.runtime import TorchCuda, cuda_of_build
from runtimes.session.session_group import Several
from tests.runtimes.contract import agrees, reference_of
from tests.runtimes.graphs import FACTORIES, Graphs
from tests.runtimes.loop_in_c import NEEDS_C
from tests.runtimes.pytorch.host_place import PLAIN, HostPlace, opened
from tests.runtimes.requests import request_of
from tests.runtimes.stand_ins.fixtures import Driver


def test_a_thread_enters_the_stream_of_the_session_that_it_runs(
    graphs: Graphs, boundary: str
) -> None:
    reference = reference_of(graphs.dense, 1)
    places = [HostPlace(), HostPlace()]
    with Several([opened(graphs.dense, boundary, place=place) for place in places]) as session:
        for lane, place in zip(session.lanes, places, strict=True):
            place.entered_by.clear()
            lane.bind(reference.inputs)
        me = threading.get_ident()
        assert [place.entered_by for place in places] == [[me], [me]], "a copy needs its stream"

        def drive() -> int:
            lane.enter()
            lane.run()
            return threading.get_ident()

        with ThreadPoolExecutor(1) as thread:
            other = thread.submit(drive).result()
        assert [place.entered_by for place in places] == [[me], [me, other]]
        assert agrees(lane.outputs(), reference)
        assert session.memory().device_peak_bytes == 1234, "the process's, not once a session"


def test_sessions_that_share_one_of_torchs_streams_say_so(graphs: Graphs) -> None:
    streams = Streams()
    assert [streams.take(number) for number in (1, 2, 1)] == [False, False, True]
    streams.give(1)
    streams.give(1)
    assert not streams.take(1)
    place = HostPlace()
    place.queues_up = True
    with opened(graphs.dense, "host", place=place) as session:
        assert "streams_exhausted" in codes(session.execution.warnings)


def test_what_closing_raises_after_a_fault_does_not_hide_the_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After an illegal access each call of CUDA's raises it again, those that free too."""

    def again(*_: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "empty_cache", again)
    place = CudaPlace.__new__(CudaPlace)
    place.device = torch.device("cuda", 0)
    untyped_place: Any = place
    untyped_place._stream = SimpleNamespace(cuda_stream=7)
    place.release()


@pytest.fixture
def pictures(graphs: Graphs) -> ExportedModel:
    return replace(
        graphs.dense,
        inputs=(TensorSpec("x", "float32", (1, 4, 6, 5)),),
        outputs=(TensorSpec("y", "float32", (1, 4, 6, 5)), TensorSpec("at", "int64", (120, 4))),
        axes={},
        factory=Factory(f"{FACTORIES}:found"),
    )


@pytest.mark.parametrize("channels_last", [False, True])
def test_what_a_run_finds_is_told_whole_in_either_layout(
    pictures: ExportedModel, boundary: str, channels_last: bool
) -> None:
    with opened(pictures, boundary, channels_last=channels_last) as session:
        (lane,) = session.lanes
        for seed in (1, 2):
            x = np.random.default_rng(seed).standard_normal((1, 4, 6, 5)).astype(np.float32)
            x[x < seed / 2] = 0
            lane.bind({"x": x})
            lane.run()
            outputs = lane.outputs()
            assert np.array_equal(outputs["y"], np.maximum(x, 0))
            assert np.array_equal(outputs["at"], np.argwhere(x))
        assert isinstance(lane, TorchCudaLane)
        (device_input,) = lane.device_inputs
        assert device_input.is_contiguous(memory_format=torch.channels_last) == channels_last


@pytest.mark.rare
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_a_mode_that_records_no_graph_where_it_should_is_unsupported(graphs: Graphs) -> None:
    """The host has none, and torch goes on without a word."""
    with pytest.raises(Unsupported, match="records no CUDA graph") as exc_info:
        opened(graphs.dense, "host", mode="reduce-overhead")
    assert "mode=compile" in exc_info.value.remedy


def test_graphs_are_not_recorded_in_one_another(graphs: Graphs, driver: Driver) -> None:
    options: dict[str, OptionValue] = {"mode": "reduce-overhead", "cuda_graph": True}
    with pytest.raises(Unsupported, match="CUDA graphs of its own"):
        TorchCuda().refuse(graphs.dense, {"batch": 1}, Settings(options=options))


def queued(lane: Lane) -> None:
    queued_timing(lane, 5)(Block(3), 3)


def in_c(lane: Lane) -> None:
    times = [array("q", bytes(24)) for _ in range(3)]
    TimedCalls(lane.calls).time(times[0], times[1], times[2], 3)
    assert loop_of(lane, streaming=False) == "C"


@pytest.mark.parametrize(
    ("run", "cuda_graph", "call"),
    [
        *((queued, recorded, call) for recorded in (False, True) for call in ("auto", "python")),
        pytest.param(in_c, True, "auto", marks=NEEDS_C),
    ],
)
def test_queued_runs_and_each_run_of_the_loop_in_c_wait_once(
    graphs: Graphs, boundary: str, run: Callable[[Lane], None], cuda_graph: bool, call: str
) -> None:
    reference, place = reference_of(graphs.dense, 1), HostPlace()
    with opened(graphs.dense, boundary, cuda_graph, place=place, call=call) as session:
        (lane,) = session.lanes
        lane.bind(reference.inputs)
        lane.poison()
        waits_before = place.waits
        run(lane)
        assert place.waits == waits_before + 3
        assert agrees(lane.outputs(), reference)
    assert not lane.calls, "what a closed session gave back is called no more"


@NEEDS_C
def test_python_times_what_is_no_graph_or_was_asked_for_or_keeps_states_on_the_device(
    graphs: Graphs, boundary: str
) -> None:
    with opened(graphs.dense, boundary) as session:
        assert loop_of(session.lanes[0], streaming=False) == "Python"
    with opened(graphs.dense, boundary, cuda_graph=True, call="python") as session:
        assert loop_of(session.lanes[0], streaming=False) == "Python"
    with opened(graphs.step, boundary, cuda_graph=True) as session:
        loop_name = loop_of(session.lanes[0], streaming=True)
        assert loop_name == ("C" if boundary == "host" else "Python")


@NEEDS_C
def test_a_result_whose_order_is_not_its_memorys_is_copied_by_torch(graphs: Graphs) -> None:
    options = PLAIN | {"boundary": "host", "cuda_graph": True}
    request = request_of(graphs.dense, 1, Settings(), **options)
    transposed_tensor = torch.arange(6.0).reshape(2, 3).t()
    lane = TorchCudaLane(request, HostPlace())
    lane.prepare(lambda: transposed_tensor, recorded=True)
    assert not lane.calls
    lane.run()
    (output,) = lane.outputs().values()
    assert output.tolist() == [[0, 3], [1, 4], [2, 5]]
    lane.close()


def test_spans_have_the_parts_that_the_boundary_has(graphs: Graphs) -> None:
    with opened(graphs.dense, "host") as session:
        spans = session.spans(6)
        assert spans.h2d_ns is not None and spans.d2h_ns is not None
        assert spans.device_ns.shape == (6,)
        assert session.memory().device_peak_bytes == 1234
    with opened(graphs.dense, "device") as session:
        assert session.spans(6).h2d_ns is None


def test_tf32_is_off_unless_asked_and_then_not_called_fp32(graphs: Graphs) -> None:
    with opened(graphs.dense, "host") as session:
        assert session.execution.precision == "fp32"
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
    with opened(graphs.dense, "host", tf32=True) as session:
        assert session.execution.precision == "tf32"
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(
    ("raised", "fault"),
    [
        (RuntimeError("operation not permitted when stream is capturing"), Unsupported),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB"), OutOfMemory),
    ],
)
def test_a_recording_that_fails_is_reported_by_its_cause(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch, raised: Exception, fault: type[RuntimeFault]
) -> None:
    def fail(self: HostPlace, call: Callable[[], Any]) -> None:
        raise raised

    monkeypatch.setattr(HostPlace, "record", fail)
    with pytest.raises(fault) as exc_info:
        opened(graphs.dense, "host", cuda_graph=True)
    assert (fault is OutOfMemory) or "cuda_graph=0" in exc_info.value.remedy
    assert not torch.is_inference_mode_enabled()


def test_a_build_of_torch_without_cuda_is_told_from_one_with_it(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cuda_of_build() == (
        int(torch.version.cuda.split(".")[0]) if torch.version.cuda else None
    )
    state = TorchCuda().availability()
    if torch.version.cuda is None:
        assert isinstance(state, Unavailable)
        assert "built without CUDA" in state.reason
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text("from typing import Optional\ncuda: Optional[str] = '13.0'")
    spec = type("Spec", (), {"origin": str(package / "__init__.py")})
    monkeypatch.setattr(runtime, "find_spec", lambda name: spec)
    assert cuda_of_build() == 13
    assert isinstance(TorchCuda().availability(), Available)
    driver.set(version=12080)
    state = TorchCuda().availability()
    assert isinstance(state, Unavailable)
    assert "CUDA 12.8" in state.reason


@pytest.mark.parametrize("name", ["wide", "step"])
def test_the_operators_are_told_at_both_boundaries_and_without_a_graph(
    graphs: Graphs, boundary: str, cuda_graph: bool, name: str
) -> None:
    model: ExportedModel = getattr(graphs, name)
    options = PLAIN | {"boundary": boundary, "cuda_graph": cuda_graph}
    request = request_of(model, 1, Settings(operator_times=True), **options)
    reference = reference_of(model, 1)
    with TorchCudaSession(request, HostPlace()) as session:
        lane = session.lanes[0]
        assert session.execution.call_path.startswith("module(*inputs)")
        lane.bind(reference.inputs)
        ops = session.operator_times(5)
        lane.run()
        assert agrees(lane.outputs(), reference)
    assert any("linear" in op.op or "mm" in op.op or "matmul" in op.op for op in ops)
    copies = [op for op in ops if op.op == "copy_"]
    assert len(copies) == (len(model.inputs) + len(model.outputs)) * (boundary == "host")


def event(
    name: str,
    begun_us: float,
    ended_us: float,
    *children: FunctionEvent,
    kernels: Sequence[tuple[str, float]] = (),
) -> FunctionEvent:
    """One of the profiler's events, with what it called and the kernels that it launched."""
    event_class: Any = FunctionEvent
    raw_event = event_class(0, name, 0, begun_us, ended_us, use_device="cuda")
    for child in children:
        raw_event.append_cpu_child(child)
    for kernel, duration_us in kernels:
        raw_event.append_kernel(kernel, 0, duration_us)
    event: FunctionEvent = raw_event
    return event


def test_on_a_gpu_an_operator_takes_what_its_kernels_take() -> None:
    """The host's times are those of the launches: a kernel may run after its operator returned."""
    runs = []
    for slower in (0.0, 1.0, 4000.0):
        parts = [("gemm", 40.0 + slower), ("split_k", 7.0)]
        multiply = event("aten::mm", 1, 3, kernels=parts)
        add = event("aten::add_", 3, 4, kernels=[("elementwise", 3.0)])
        linear = event("aten::linear", 0, 5, event("aten::t", 0, 1), multiply, add)
        copy = event("aten::copy_", 6, 8, kernels=[("Memcpy DtoH (Device -> Pinned)", 5.0)])
        view, wait = event("aten::view", 5, 6), event("cudaStreamSynchronize", 8, 60)
        scope = event("graphlap module head", 0, 6, linear, view)
        runs.append(event("graphlap run", 0, 60, scope, copy, wait))
    assert operators.medians(runs, on_gpu=True) == (
        OpTime("head #0", "linear", 51.0, "gemm"),
        OpTime("module #2", "copy_", 5.0, "Memcpy DtoH (Device -> Pinned)"),
    )
    assert sum(op.time_us for op in operators.medians(runs, on_gpu=False)) == 60.0
