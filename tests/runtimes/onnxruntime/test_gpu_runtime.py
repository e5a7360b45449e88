"""The CUDA and TensorRT providers: no CPU latency ever stands under their names.

There is no GPU here. So the providers are made to fall back, which is what ONNX Runtime does
by itself.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from weakref import finalize

import numpy as np
import onnxruntime
import pytest

from app.workers.process import prepare
from exporters.types import ExportedModel, Reference
from runtimes.cuda import options as tf32
from runtimes.cuda import runtime as libraries
from runtimes.errors import NotAvailable, Unsupported
from runtimes.onnxruntime import execution as ort_execution
from runtimes.onnxruntime import opening
from runtimes.onnxruntime.execution import mark_shape_arithmetic
from runtimes.onnxruntime.gpu_runtimes import OrtCuda, OrtTensorRt, set_tf32_of_process
from runtimes.options import Settings
from tests.runtimes.graphs import Graphs
from tests.runtimes.onnxruntime.on_host import CPU
from tests.runtimes.requests import request_of

pytestmark = pytest.mark.usefixtures("pretended")


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


def test_a_cuda_graph_needs_the_device_boundary(graphs: Graphs) -> None:
    for runtime in (OrtCuda(), OrtTensorRt()):
        with pytest.raises(Unsupported, match="boundary=device"):
            runtime.refuse(graphs.dense, {"batch": 1}, Settings(options={"cuda_graph": True}))
        settings = Settings(options={"cuda_graph": True, "boundary": "device"})
        runtime.refuse(graphs.dense, {"batch": 1}, settings)


def test_a_processs_environment_forbids_tf32_before_anything_is_loaded() -> None:
    runtime = OrtTensorRt()
    tf32_settings = Settings(options={"tf32": True})
    assert runtime.environment(Settings()) == {tf32.VARIABLE: "0"}
    assert runtime.environment(tf32_settings) == {tf32.VARIABLE: None}
    profile_variables = runtime.environment(Settings(operator_times=True))
    assert profile_variables == {tf32.VARIABLE: "0", **runtime.operator_environment}
    assert prepare(runtime, Settings()) == {tf32.VARIABLE: "0"}
    assert os.environ[tf32.VARIABLE] == "0"
    prepare(runtime, tf32_settings)
    assert tf32.VARIABLE not in os.environ


@pytest.mark.parametrize(("when_loaded", "told"), [("0", "fp32"), (None, "unknown")])
def test_what_was_forbidden_after_libraries_were_loaded_is_not_called_fp32(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch, when_loaded: str | None, told: str
) -> None:
    runtime = OrtTensorRt()
    if when_loaded is not None:
        monkeypatch.setenv(tf32.VARIABLE, when_loaded)
    libraries.open_libraries(["libgraphlap_absent.so.1"])
    set_tf32_of_process(False)
    with pytest.raises(Unsupported, match="process"):
        set_tf32_of_process(True)
    request = runtime.request(graphs.dense, {"batch": 1}, Settings())
    execution = ort_execution.Executed("fp32", ())
    precision, finding = runtime._precision(request, execution, (9, 0))
    assert precision == told
    assert bool(finding) == (told == "unknown")


def profiled(model: ExportedModel, prefix: Path | None) -> onnxruntime.InferenceSession:
    """A session on the CPU that writes its profile there, if anywhere."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if prefix is not None:
        options.enable_profiling, options.profile_file_prefix = True, str(prefix)
    return onnxruntime.InferenceSession(model.path, options, providers=[CPU])


def test_a_precision_that_is_read_beside_no_other_session_where_two_are_too_many(
    graphs: Graphs,
) -> None:
    """Near the end of a GPU's memory the second session is one too many: then one at a time."""
    open_now, most = [0], []
    text = """(float[batch,4] x) => (float[batch,4] y) {
        h = Cast <to = 10> (x) y = Cast <to = 1> (h)
    }"""
    reference = Reference({"x": np.ones((1, 4), np.float32)}, {})
    model = graphs.of_text("narrow", text, reference)

    def open_session(prefix: Path | None = None) -> onnxruntime.InferenceSession:
        if open_now[0]:
            raise RuntimeError("CUDA failure 2: out of memory")
        session = profiled(model, prefix)
        open_now[0] += 1
        most.append(open_now[0])
        finalize(session, lambda: open_now.__setitem__(0, open_now[0] - 1))
        return session

    session, execution = ort_execution.opened_and_read(
        open_session, open_session, request_of(model)
    )
    assert execution.precision != "unknown"
    assert not execution.warnings
    assert most == [1, 1, 1], "the session, the one that is recorded, and the session again"
    assert session.get_inputs()[0].name == "x"


def test_a_graph_on_two_providers_is_recorded_for_its_types(graphs: Graphs) -> None:
    """The assignment alone does not tell float work on the CPU from arithmetic on shapes."""
    text = """(float[batch,4] x) => (float[batch,4] y, int64[2] t) {
        s = Shape(x) t = Add(s, s) y = Relu(x)
    }"""
    model = graphs.of_text("split", text, Reference({"x": np.ones((1, 4), np.float32)}, {}))
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

    execution = ort_execution.read(session, partial(profiled, model), request_of(model))
    marked_nodes = mark_shape_arithmetic(execution.placement, OrtCuda.provider)
    assert {node.op: node.counts for node in marked_nodes} == {
        "Shape": False,
        "Add": False,
        "Relu": True,
    }


@pytest.mark.parametrize(
    ("runtime", "library"),
    [
        (OrtCuda(), "libonnxruntime_providers_cuda.so"),
        (OrtTensorRt(), "libonnxruntime_providers_tensorrt.so"),
    ],
    ids=["cuda", "tensorrt"],
)
def test_the_provider_knows_every_option_by_the_name_that_it_gets(
    graphs: Graphs, runtime: OrtCuda | OrtTensorRt, library: str
) -> None:
    """ONNX Runtime's provider library holds the names; an unknown one would fail on a GPU."""
    binary = (Path(onnxruntime.__path__[0]) / "capi" / library).read_bytes()
    settings = Settings(cache_dir=str(graphs.folder))
    request = runtime.request(graphs.dense, {"batch": 1}, settings)
    (_, values), *_ = runtime._providers(request, 4096)
    assert values["device_id"] == "0"
    for name in values:
        assert name.encode() in binary, name


def test_the_providers_options_follow_the_case(graphs: Graphs) -> None:
    def values_of(runtime: OrtCuda | OrtTensorRt, settings: Settings) -> dict[str, str]:
        request = runtime.request(graphs.dense, {"batch": 1}, settings)
        (_, values), *_ = runtime._providers(request, 0)
        return values

    for precision in OrtTensorRt().precisions:
        values = values_of(OrtTensorRt(), Settings(precision=precision))
        flags = {n for n in ("fp16", "bf16", "int8") if values[f"trt_{n}_enable"] == "1"}
        assert flags == {precision} - {"fp32"}
    for preferred, flag in ((False, "0"), (True, "1")):
        options = {"prefer_nhwc": preferred, "cudnn_conv_use_max_workspace": not preferred}
        values = values_of(OrtCuda(), Settings(options=options))
        assert values["prefer_nhwc"] == flag != values["cudnn_conv_use_max_workspace"]
    with pytest.raises(Unsupported, match="int8"):
        OrtCuda().refuse(graphs.dense, {"batch": 1}, Settings(precision="int8"))


@pytest.mark.parametrize(("release", "graphs_queued"), [("1.30.0", False), ("1.31.0", True)])
def test_runs_are_queued_by_the_cuda_provider_alone_and_as_graphs_since_a_release(
    graphs: Graphs, release: str, graphs_queued: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "installed_release", lambda: release)
    for runtime, cuda_graph, has_queue in (
        (OrtCuda(), False, True),
        (OrtCuda(), True, graphs_queued),
        (OrtTensorRt(), False, False),
    ):
        settings = Settings(options={"boundary": "device", "cuda_graph": cuda_graph})
        request = runtime.request(graphs.dense, {"batch": 1}, settings)
        assert runtime._has_queue(request) == has_queue
