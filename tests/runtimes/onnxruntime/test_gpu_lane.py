"""A session on a GPU, at both boundaries, and its operator times: on the host's memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from app.contract.graphs import STEPS, streamed
from app.workers.lanes import queued_timing
from app.workers.loop import Block
from exporters.types import ExportedModel
from runtimes.base import Device
from runtimes.cuda import driver
from runtimes.cuda import runtime as libraries
from runtimes.errors import Unsupported
from runtimes.execution import Boundary
from runtimes.onnxruntime.gpu import Providers, engine_folder
from runtimes.onnxruntime.gpu_runtimes import OrtCuda, OrtTensorRt
from runtimes.options import OptionValue, Request, Settings
from runtimes.session.session_group import Several
from tests.runtimes.contract import agrees, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.onnxruntime.on_host import CPU, on_host
from tests.runtimes.stepped import bind_apart, run_all_at_once, streams


def reshaped(graphs: Graphs) -> ExportedModel:
    """A graph whose shape is an input, which ONNX Runtime's providers take on the host."""
    text = """(float[6] x, int64[2] shape) => (float[6] y, int64[2] twice) {
        flat = Reshape(x, shape) z = Relu(flat) y = Reshape(z, back) twice = Add(shape, shape)
    }"""
    return graphs.of_text("reshaped", text, back=[6])


def test_what_a_session_has_on_the_host_is_bound_there_and_bound_anew(
    graphs: Graphs, boundary: Boundary
) -> None:
    """A shape on the device would be copied from there once, before anything was written."""
    model = reshaped(graphs)
    with on_host(model, 1, boundary, taken_on_host=("shape", "twice")) as session:
        (lane,) = session.lanes
        x = np.arange(6, dtype=np.float32)
        for shape in ([2, 3], [3, 2], [6, 1]):
            lane.poison()
            lane.bind({"x": x, "shape": np.array(shape, np.int64)})
            lane.run()
            assert lane.outputs()["twice"].tolist() == [2 * size for size in shape]
            assert lane.outputs()["y"].tolist() == x.tolist()
        lane.feed({"shape": np.array([1, 6], np.int64)})
        lane.run()
        assert lane.outputs()["twice"].tolist() == [2, 12]


@pytest.mark.parametrize("names", [("h", "older"), ("h_out", "older_out"), ("h", "older_out")])
def test_states_that_a_session_has_on_the_host_go_on_there(
    graphs: Graphs, boundary: Boundary, names: tuple[str, ...]
) -> None:
    with on_host(graphs.step, 1, boundary, taken_on_host=names) as session:
        lane = session.lanes[0]
        assert streams(lane)


def test_sessions_at_once_go_on_each_from_its_own_state(graphs: Graphs, boundary: Boundary) -> None:
    with Several([on_host(graphs.step, 1, boundary) for _ in range(2)]) as session:
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, STEPS, True), strict=True):
            assert np.allclose(results, streamed(np.repeat(x[None], STEPS, axis=0)), atol=1e-5)


def test_runs_that_are_queued_on_the_device_are_waited_for_once(
    graphs: Graphs, boundary: Boundary
) -> None:
    reference = reference_of(graphs.dense, 1)
    with on_host(graphs.dense, 1, boundary, has_queue=True) as session:
        (lane,) = session.lanes
        if boundary == "host":
            assert lane.enqueue is None, "the copies to the host are waited for"
            return
        enqueue, synchronize, order = lane.enqueue, lane.synchronize, ""
        assert isinstance(enqueue, partial) and synchronize is not None
        entry = "disable_synchronize_execution_providers"
        assert enqueue.args[1].get_run_config_entry(entry) == "1"

        def count_enqueue() -> None:
            nonlocal order
            order += "x"
            enqueue()

        def count_wait() -> None:
            nonlocal order
            order += "w"
            synchronize()

        lane.enqueue, lane.synchronize = count_enqueue, count_wait
        lane.bind(reference.inputs)
        lane.poison()
        queued_timing(lane, 5)(Block(3), 3)
        assert order == "xxxxxw" * 3
        assert agrees(lane.outputs(), reference)


class _OnHost(OrtTensorRt):
    """ONNX Runtime's CPU provider in the place of TensorRT's, with all that is around it."""

    provider = CPU
    asked: ClassVar[list[dict[str, str]]] = []

    def _providers(self, request: Request, stream: int) -> Providers:
        ((_, values), *_) = super()._providers(request, stream)
        self.asked.append(values)
        return [(CPU, {})]


@pytest.mark.usefixtures("pretended")
def test_operator_times_whose_launches_would_not_wait_are_refused(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting, a kernel's time on the host is that of its launch: flattering, and wrong."""
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING", raising=False)
    for runtime in (OrtCuda(), OrtTensorRt()):
        with pytest.raises(Unsupported, match="CUDA_LAUNCH_BLOCKING=1"):
            runtime.compile(graphs.dense, {"batch": 1}, Settings(operator_times=True))
        with monkeypatch.context() as patch:
            patch.setenv("CUDA_LAUNCH_BLOCKING", "1")
            runtime.refuse(graphs.dense, {"batch": 1}, Settings(operator_times=True))


@pytest.mark.usefixtures("pretended", "driver")
def test_operator_times_are_the_kept_engines_and_none_is_kept_for_them(
    graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    monkeypatch.setattr(_OnHost, "asked", [])
    runtime = _OnHost()
    settings = Settings(cache_dir=str(tmp_path), operator_times=True)
    kept_folder = engine_folder(runtime.request(graphs.dense, {"batch": 1}, settings))
    assert kept_folder is not None
    (kept_folder / "graph.engine").write_bytes(b"timed")
    (kept_folder.parent / "sm90.timing").write_bytes(b"timings")

    with runtime.compile(graphs.dense, {"batch": 1}, settings) as session:
        (provider_options,) = runtime.asked
        engine_cache = Path(provider_options["trt_engine_cache_path"])
        assert (engine_cache / "graph.engine").read_bytes() == b"timed"
        assert (engine_cache.parent / "sm90.timing").read_bytes() == b"timings"
        (engine_cache / "graph.engine").write_bytes(b"tuned while launches waited")
        session.lanes[0].bind(reference_of(graphs.dense, 1).inputs)
        assert session.operator_times(2)
    assert not engine_cache.exists()
    assert (kept_folder / "graph.engine").read_bytes() == b"timed"
    assert tmp_path not in engine_cache.parents


@pytest.mark.usefixtures("pretended", "driver")
def test_engines_and_timings_are_kept_for_each_kind_of_gpu(
    graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX Runtime names its files by the architecture, which cards of several kinds share."""
    devices = (Device("0", "GPU one"), Device("1", "GPU two"), Device("2", "GPU one"))
    monkeypatch.setattr(libraries, "devices", lambda: devices)
    monkeypatch.setattr(OrtTensorRt, "devices", lambda self: devices)
    folders = []
    for device in devices:
        settings = Settings(cache_dir=str(tmp_path), device=device.key)
        folders.append(engine_folder(_OnHost().request(graphs.dense, {"batch": 1}, settings)))
    first_folder, two, same = (folder for folder in folders if folder is not None)
    assert first_folder == same and first_folder != two and first_folder.parent != two.parent


@pytest.mark.usefixtures("pretended", "driver")
def test_a_provider_that_tells_operators_is_asked_for_no_cuda_graph(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    monkeypatch.setattr(_OnHost, "asked", [])
    monkeypatch.setattr(driver.Gpu, "kind", "cpu")
    options: dict[str, OptionValue] = {"boundary": "device", "cuda_graph": True}
    for tells, graph_option in ((False, "1"), (True, "0")):
        settings = Settings(options=options, operator_times=tells)
        _OnHost().compile(graphs.dense, {"batch": 1}, settings).close()
        assert _OnHost.asked[-1]["trt_cuda_graph_enable"] == graph_option
