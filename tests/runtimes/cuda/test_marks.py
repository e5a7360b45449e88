"""GPU time of runs and ranges under a profiler: over stand-ins for the driver and the library."""

from __future__ import annotations

import time
from collections.abc import Iterator
from ctypes import CDLL, CFUNCTYPE, c_void_p, cast
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from app.workers.timed_round import device_facts
from exporters.diagnostics import codes
from runtimes.calls import Call
from runtimes.cuda import driver as cuda_driver
from runtimes.cuda import nvtx
from runtimes.cuda.driver import CudaError, Gpu, calling
from runtimes.cuda.marks import mark_in_c, mark_in_python
from runtimes.execution import Boundary, Spans
from runtimes.onnxruntime.gpu_runtimes import OrtCuda
from runtimes.options import Settings
from tests.runtimes.contract import reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.onnxruntime.on_host import on_gpu
from tests.runtimes.stand_ins.fixtures import Driver, compiled
from tests.runtimes.test_gpu_rows import measured

RUNS = 5
SLEEP_NS = 20_000_000


@pytest.fixture
def gpu(driver: Driver) -> Gpu:
    return Gpu(0)


WORK = CFUNCTYPE(None, c_void_p)(lambda _: time.sleep(SLEEP_NS / 1e9))


def queued_work(stream: int) -> Call:
    """Work of a known length, done when the stream is waited for."""
    address = cast(WORK, c_void_p).value or 0
    function = cast(_library().cuLaunchHostFunc, c_void_p).value or 0
    return Call(function, (stream, address, 0), RuntimeError)


def _library() -> CDLL:
    return CDLL(cuda_driver.SONAME)


@pytest.mark.parametrize("in_c", [True, False])
def test_each_part_has_its_own_time(gpu: Gpu, driver: Driver, in_c: bool) -> None:
    stream = gpu.stream().value or 0
    work = queued_work(stream)
    live = driver.live
    if in_c:
        marks = mark_in_c(stream, [(), (work,), ()], RUNS)
    else:

        def run() -> None:
            library = _library()
            library.cuLaunchHostFunc(c_void_p(stream), WORK, None)

        marks = mark_in_python(stream, [int, run, int], RUNS)
    assert marks.parts_ns.shape == (3, RUNS)
    assert (marks.parts_ns[1] >= SLEEP_NS).all()
    # The medians, as another process may take the processor for any of the runs.
    assert (np.median(marks.parts_ns[[0, 2]], axis=1) < SLEEP_NS).all()
    # It is queued at once, and the rest of the run is a wait.
    assert (marks.run_ns >= SLEEP_NS).all() and np.median(marks.queued_ns) < SLEEP_NS
    assert driver.live == live
    gpu.close()


def test_what_a_call_of_a_marked_run_fails_with_is_raised(gpu: Gpu, driver: Driver) -> None:
    stream = gpu.stream().value or 0
    driver.fail(700)
    with pytest.raises(CudaError) as error_info:
        mark_in_c(stream, [(calling("cuStreamSynchronize", stream),)], RUNS)
    assert error_info.value.code == 700


@pytest.mark.parametrize("boundary", ["host", "device"])
@pytest.mark.parametrize("cuda_graph", [False, True])
def test_an_engine_is_marked_by_the_loop_that_times_it(
    graphs: Graphs, tensorrt: ModuleType, driver: Driver, boundary: str, cuda_graph: bool
) -> None:
    with compiled(graphs, boundary=boundary, cuda_graph=cuda_graph) as session:
        lane = session.lanes[0]
        lane.bind(reference_of(graphs.dense, 1).inputs)
        driver.told()
        spans = session.spans(RUNS)
        requests = driver.told()
    run = f"{'i' if boundary == 'host' else ''}{'g' if cuda_graph else 'x'}"
    run += f"{'o' if boundary == 'host' else ''}w"
    assert requests == run * RUNS
    assert spans is not None and len(spans.device_ns) == RUNS
    assert (spans.device_ns > 0).all()
    for copies in (spans.h2d_ns, spans.d2h_ns):
        assert (copies is None) == (boundary == "device")
    assert spans.queued_ns is not None and spans.run_ns is not None
    assert (spans.run_ns >= spans.queued_ns).all()


@pytest.mark.parametrize(("boundary", "given"), [("host", False), ("device", True)])
def test_the_cuda_provider_computes_on_a_stream_of_ours_at_the_device_boundary(
    graphs: Graphs, gpu: Gpu, boundary: str, given: bool
) -> None:
    runtime = OrtCuda()
    settings = Settings(options={"boundary": boundary}, device="0")
    request = runtime.request(graphs.dense, {"batch": 1}, settings)
    stream = runtime._stream(request, gpu)
    ((_, options),) = runtime._providers(request, stream)
    assert bool(stream) == given
    assert options.get("user_compute_stream") == (str(stream) if given else None)
    gpu.close()


@pytest.mark.parametrize("boundary", ["host", "device"])
def test_onnx_runtime_is_marked_on_the_stream_that_it_was_given(
    graphs: Graphs, driver: Driver, boundary: Boundary
) -> None:
    with on_gpu(graphs.dense, 1, boundary) as session:
        spans = session.spans(RUNS)
    if boundary == "host":
        assert spans is None
    else:
        assert spans is not None and len(spans.device_ns) == RUNS
    assert driver.live == 0


def test_figures_state_what_limits_a_run() -> None:
    device = np.arange(1, 301) * 1000
    run = np.full(300, 400_000)
    facts = device_facts(Spans(device, queued_ns=run * 9 // 10, run_ns=run))
    assert facts["device_bound"] == "launch"
    assert (facts["device_min_us"], facts["device_runs"]) == (1.0, 300)
    assert facts["device_p99_us"] == pytest.approx(297.01)
    assert facts["launch_p50_us"] == 360.0
    facts = device_facts(Spans(device[:299], queued_ns=run[:299] // 10, run_ns=run[:299]))
    assert facts["device_bound"] == "compute"
    assert "device_p99_us" not in facts
    assert "device_bound" not in device_facts(Spans(device))


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A profiler that listens."""
    monkeypatch.setenv(nvtx.LISTENER, "/a/profiler.so")
    nvtx._library.cache_clear()
    yield
    nvtx._library.cache_clear()


def test_a_profiler_gets_the_round_and_its_phases(
    graphs: Graphs, listener: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    library = SimpleNamespace(
        nvtxRangePushA=lambda name: calls.append(name.decode()),
        nvtxRangePop=lambda: calls.append("pop"),
    )
    monkeypatch.setattr(nvtx, "open_first", lambda _sonames: library)
    result = measured(graphs.dense, "ort-cpu", tmp_path)
    assert result.status == "ok", result.reason
    first, *lines, last = calls
    assert first == f"round 0 of {result.case_id}" and last == "pop"
    assert lines[1::2] == ["pop"] * (len(lines) // 2), "one phase ends before the next begins"
    phases = lines[::2]
    assert set(phases) == result.phases_ms.keys()
    assert phases.index("compile") < phases.index("warmup") < phases.index("measure")
    assert "nvtx_unavailable" not in codes(result.warnings)


def test_a_profiler_without_the_library_is_a_warning(
    graphs: Graphs, listener: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvtx, "SONAMES", ("libgraphlap_absent.so.1",))
    result = measured(graphs.dense, "ort-cpu", tmp_path)
    assert result.status == "ok"
    assert "nvtx_unavailable" in codes(result.warnings)
