"""OpenVINO keeps the contract on each device, computes in what it was told, and tells nobody."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exporters.codec import to_json
from exporters.diagnostics import codes, diagnostic
from exporters.types import ExportedModel, Reference
from runtimes.base import Session
from runtimes.errors import CompileFault, NotAvailable, Unsupported
from runtimes.openvino.library import library
from runtimes.openvino.runtime import OpenVino, OpenVinoCpu, refuse_type
from runtimes.openvino.session import compile_fault
from runtimes.options import OptionValue, Settings
from runtimes.session.precision import multiplies_bf16, usable_cores
from runtimes.session.session_group import compile_sessions
from tests.runtimes.contract import ONE_THREAD, RuntimeContract, computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.processes import printed


class TestOpenVinoCpu(RuntimeContract):
    name = "openvino-cpu"
    untried = frozenset({"inference_precision=bf16"})


def opened(model: ExportedModel, settings: Settings = ONE_THREAD, **axes: int) -> Session:
    return OpenVinoCpu().compile(model, axes, settings)


def test_what_fails_in_a_step_of_its_own_names_the_step_and_the_node() -> None:
    """As OpenVINO 2026.4 says it of an Add that has a constant quantised."""
    error = RuntimeError(
        "Exception from src/core/src/pass/graph_rewrite.cpp:298:\n[AddTransformation] END: node: "
        "opset1::Add sum_node (opset1::Multiply x[0]:f32[2,4]) -> (f32[2,4]) CALLBACK HAS THROWN: "
        "Check 'index < m_inputs.size()' failed at src/core/src/node.cpp:304:\n"
        "index '0' out of range\n\n"
    )
    fault = compile_fault(error)
    assert isinstance(fault, CompileFault)
    assert "in its own AddTransformation at node 'sum_node' (index '0' out of range)" in fault.cause


@pytest.mark.parametrize(("kind", "dtype"), [("float", "float32"), ("int64", "int64")])
def test_an_input_of_rank_zero_is_fed_as_it_is(graphs: Graphs, kind: str, dtype: str) -> None:
    """Alone, and beside an input of which the size has to be fixed."""
    text = f"""({kind} s, float[batch,4] x) => (float[batch,4] y, {kind} z) {{
        f = Cast <to = 1> (s) y = Mul(x, f) z = Identity(s)
    }}"""
    model = graphs.of_text(f"ov_scalar_{kind}", text)
    alone_text = f"({kind} s) => ({kind} z) {{ z = Identity(s) }}"
    alone = graphs.of_text(f"ov_scalar_alone_{kind}", alone_text)
    value = np.array(3, dtype)
    with opened(model, batch=2) as session, opened(alone) as lone_session:
        (lane,), (lone_lane,) = session.lanes, lone_session.lanes
        x_values = np.arange(8, dtype=np.float32).reshape(2, 4)
        for each, inputs in ((lane, {"s": value, "x": x_values}), (lone_lane, {"s": value})):
            each.enter()
            each.bind(inputs)
            each.run()
        assert np.array_equal(lane.outputs()["y"], 3 * x_values)
        assert lone_lane.outputs()["z"] == value


def test_bf16_runs_only_when_asked_and_where_the_processor_has_it(graphs: Graphs) -> None:
    with opened(graphs.dense, batch=3) as session:
        assert session.execution.precision == "fp32"
    settings = Settings(threads=1, options={"inference_precision": "bf16"})
    if "BF16" not in library().computes_in("CPU"):
        assert not multiplies_bf16()
        with pytest.raises(Unsupported):
            opened(graphs.dense, settings, batch=3)
        return
    reference = reference_of(graphs.dense, 3)
    with opened(graphs.dense, settings, batch=3) as session:
        lane = session.lanes[0]
        if multiplies_bf16():  # AVX-512 alone computes it by way of float32
            assert session.execution.precision == "bf16"
        assert computes(lane, reference, tolerance=0.05)


def test_floats_of_a_loop_or_of_constants_are_not_called_integers(graphs: Graphs) -> None:
    """Neither has a kernel of a float type that the engine tells of."""
    ones = np.ones((1, 4), np.float32)
    loop = """(float[1,4] x) => (float[1,4] y) {
        y = Loop(turns, , x) <body = turn (int64 i, bool go, float[1,4] h)
            => (bool on, float[1,4] next) { next = MatMul(h, w) on = Identity(go) }>
    }"""
    reference = Reference({"x": ones}, {"y": ones})
    eye = np.eye(4, dtype=np.float32)
    loop_model = graphs.of_text("ov_looped", loop, reference, turns=3, w=eye)
    folded = "() => (float[1,4] y) { y = Add(w, w) }"
    constant_model = graphs.of_text("ov_folded", folded, Reference({}, {"y": 2 * ones}), w=ones)
    for model in (loop_model, constant_model):
        with opened(model) as session:
            assert session.execution.precision == "unknown"
            assert codes(session.execution.warnings) == ("precision_not_reported",)


def test_a_kernel_that_takes_less_than_a_microsecond_is_always_placed(graphs: Graphs) -> None:
    placements = set()
    for _ in range(12):
        with opened(graphs.step, batch=1) as session:
            placements.add(session.execution.placement)
    (placement,) = placements
    assert "Identity" in {node.op for node in placement}


QUIET = """
import json, os, socket, sys, threading
from exporters.codec import from_json
from exporters.types import ExportedModel
from runtimes.options import OptionValue, Settings
from runtimes.openvino.library import OpenVinoError, library
from runtimes.openvino.runtime import OpenVinoCpu

def hook(event, arguments):
    if event.startswith("socket."):
        print("socket", event, flush=True)

sys.addaudithook(hook)
model = from_json(ExportedModel, json.loads(sys.argv[1]))
with OpenVinoCpu().compile(model, {"batch": 1}, Settings(threads=1)) as session:
    session.lanes[0].run()
    print(threading.active_count(), [name for name in sys.modules if "telemetry" in name])
"""


def test_it_sends_no_usage_report_and_leaves_no_second_thread(
    graphs: Graphs, tmp_path: Path
) -> None:
    text = printed(QUIET, json.dumps(to_json(graphs.dense)), HOME=str(tmp_path))
    assert text.splitlines() == ["1 []"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(usable_cores() < 2, reason="one core is shared in any case")
@pytest.mark.parametrize(
    ("threads", "options", "warned"),
    [
        (1, {"sessions": 2}, True),
        (1, {"sessions": 2, "cpu_pinning": True}, True),
        (1, {"sessions": 2, "cpu_pinning": False}, False),
        (2, {"streams": 2}, False),  # of one session, each on a core of its own
        (1, {}, False),
        (usable_cores(), {"sessions": 2}, False),  # each has all cores, pinned or not
    ],
)
def test_several_sessions_that_are_pinned_to_the_same_cores_are_warned_of(
    graphs: Graphs, threads: int, options: dict[str, OptionValue], warned: bool
) -> None:
    settings = Settings(threads=threads, options=options)
    pinned_finding = diagnostic(
        "threads_pinned_together", sessions=2, threads=1, cores=usable_cores()
    )
    with compile_sessions(OpenVinoCpu(), graphs.dense, {"batch": 1}, settings) as session:
        findings = [finding for finding in session.execution.warnings if finding == pinned_finding]
    assert len(findings) == warned, "once, however many sessions say it"


class TestOpenVinoOnAuto(RuntimeContract):
    name = "openvino"
    untried = frozenset(
        f"inference_precision={narrow_or_own}" for narrow_or_own in ("f16", "bf16", "device")
    )


def opened_on(
    model: ExportedModel, device: str, threads: int = 1, **options: OptionValue
) -> Session:
    settings = Settings(threads=threads, device=device, options=options)
    return OpenVino().compile(model, {"batch": 1}, settings)


@pytest.mark.parametrize("device", ["CPU", "AUTO", "AUTO:CPU", "MULTI:CPU", "HETERO:CPU"])
def test_the_row_tells_what_executed_whatever_chose_it(graphs: Graphs, device: str) -> None:
    reference = reference_of(graphs.step, 1)
    with opened_on(graphs.step, device, threads=2, streams=2) as session:
        assert len(session.lanes) == 2
        for lane in session.lanes:
            assert computes(lane, reference)
        execution = session.execution
    assert execution.provider == "CPU"
    assert execution.device_name == library().device_name("CPU")
    assert execution.precision == "fp32"
    assert {"xw_node", "hu_node"} <= {node.node for node in execution.placement}


def test_more_streams_than_the_chosen_device_makes_are_refused(graphs: Graphs) -> None:
    with pytest.raises(Unsupported, match="makes 1 stream of its threads and not 2"):
        opened_on(graphs.step, "AUTO", threads=1, streams=2)


def test_a_device_that_is_not_here_is_named_with_those_that_are(graphs: Graphs) -> None:
    local_devices = library().devices()
    if any(name.startswith("GPU") for name in local_devices):
        pytest.skip("this machine has a GPU that OpenVINO computes on")
    for device in ("GPU", "GPU.1", "AUTO:GPU+CPU", "HETERO:CPU+GPU"):
        with pytest.raises(NotAvailable, match=r"finds no GPU(\.1)? on this machine") as exc_info:
            opened_on(graphs.dense, device)
        assert "CPU" in exc_info.value.remedy


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("gpu", "calls no device 'gpu'"),
        ("HETERO", "HETERO needs the devices"),
        ("MULTI", "MULTI needs the devices"),
        ("CPU:GPU", "calls no device"),
        ("AUTO:", "calls no device"),
        ("AUTO:GPU,CPU", "calls no device"),
    ],
)
def test_what_is_no_device_is_refused_by_its_words_alone(device: str, told: str) -> None:
    with pytest.raises(NotAvailable, match=told) as exc_info:
        OpenVino().refuse_device(device, "")
    assert "openvino:" in exc_info.value.remedy


def test_float32_is_stated_unless_a_processor_with_bf16_may_choose(graphs: Graphs) -> None:
    """A processor with bf16 would take that on its own."""
    device_precision = "bf16" if multiplies_bf16() else "fp32"
    for inference_type, precision in (
        ("graph", "fp32"),
        ("f32", "fp32"),
        ("device", device_precision),
    ):
        with opened_on(graphs.dense, "AUTO", inference_precision=inference_type) as session:
            assert session.execution.precision == precision


def test_a_device_without_float32_says_how_it_is_measured() -> None:
    refuse_type("NPU", "f16", ("FP16", "INT8", "EXPORT_IMPORT"))
    with pytest.raises(Unsupported, match="NPU does not compute in f32"):
        refuse_type("NPU", "f32", ("FP16", "INT8", "EXPORT_IMPORT"))
