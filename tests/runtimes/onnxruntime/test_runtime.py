"""The CPU provider keeps the contract, states what it executed, and tells bad graphs apart."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest

from app.contract.graphs import weights
from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel, Precision, Reference, StatePair
from runtimes.base import Session
from runtimes.errors import OutOfMemory, RunFault, Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.onnxruntime.session import DIRECT_CALL, PUBLIC_CALL, timed_call
from runtimes.options import OptionValue, Settings
from tests.runtimes.contract import ONE_THREAD, RuntimeContract, refusal
from tests.runtimes.graphs import Graphs, quantised_conv
from tests.runtimes.loop_in_c import ENGINE_CALLS

IN_PYTHON = Settings(threads=1, options={"call": "python"})


class TestOrtCpu(RuntimeContract):
    name = "ort-cpu"


def opened(model: ExportedModel, settings: Settings = ONE_THREAD, **axes: int) -> Session:
    return OrtCpu().compile(model, axes, settings)


def test_an_operator_without_a_kernel_is_unsupported_and_named(graphs: Graphs) -> None:
    text = "(int16[4] x) => (int16[4] y) { y = Relu(x) }"
    fault = refusal("ort-cpu", graphs.of_text("kernel", text))
    assert isinstance(fault, Unsupported)
    assert fault.node == "y_node"
    assert "Relu" in fault.cause


@pytest.mark.parametrize(("opset", "ir_version"), [(999, 10), (20, 999)])
def test_a_file_newer_than_the_engine_is_unsupported(
    graphs: Graphs, opset: int, ir_version: int
) -> None:
    model = graphs.of_text("newer", "(float[4] x) => (float[4] y) { y = Relu(x) }")
    proto = onnx.load(model.path)
    proto.opset_import[0].version, proto.ir_version = opset, ir_version
    onnx.save(proto, model.path)
    fault = refusal("ort-cpu", model)
    assert isinstance(fault, Unsupported)
    assert "999" in fault.cause


def test_an_axis_that_the_graph_cannot_take_fails_in_the_run_and_names_the_node(
    graphs: Graphs,
) -> None:
    text = "(float[batch,4] x) => (float[4,4] y) { y = Reshape(x, shape) }"
    model = graphs.of_text("reshape", text, shape=[4, 4])
    with opened(model, batch=3) as session, pytest.raises(Exception) as exc_info:
        session.lanes[0].run()
    fault = session.fault(exc_info.value)
    assert isinstance(fault, RunFault)
    assert "y_node" in fault.cause


def test_running_out_of_memory_is_told_apart(graphs: Graphs) -> None:
    text = """(float[1] x, int64[1] size) => (float y) {
        wide = Expand(x, size) y = ReduceSum <keepdims = 0> (wide)
    }"""
    model = graphs.of_text("huge", text)
    with opened(model) as session:
        lane = session.lanes[0]
        lane.bind({"x": np.ones(1, np.float32), "size": np.array([2**44])})
        with pytest.raises(Exception) as exc_info:
            lane.run()
        assert isinstance(session.fault(exc_info.value), OutOfMemory)


def test_texts_are_timed_through_the_plain_call(graphs: Graphs) -> None:
    model = graphs.of_text("text", "(string[4] x) => (string[4] y) { y = Identity(x) }")
    texts = np.array(["a", "bb", "", "量"])
    with opened(model) as session:
        assert "Python values" in session.execution.call_path
        lane = session.lanes[0]
        lane.bind({"x": texts})
        assert not lane.outputs()
        lane.run()
        assert lane.outputs()["y"].tolist() == texts.tolist()
        lane.feed({"x": texts[::-1]})
        lane.poison()
        lane.run()
        assert lane.outputs()["y"].tolist() == texts[::-1].tolist()
    for option, value in (("call", "c"), ("build", "library")):
        with pytest.raises(Unsupported):
            opened(model, Settings(options={option: value}))


def test_the_timed_call_is_the_c_binding_or_says_that_it_is_not(graphs: Graphs) -> None:
    with opened(graphs.dense, IN_PYTHON, batch=1) as session:
        assert session.execution.call_path == DIRECT_CALL
    engine = onnxruntime.InferenceSession(graphs.dense.path, providers=["CPUExecutionProvider"])
    binding = engine.io_binding()
    public = SimpleNamespace(run_with_iobinding=engine.run_with_iobinding)
    x = np.ones((1, 4), np.float32)
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_output("y")
    run, call_path = timed_call(public, binding)
    run()
    assert call_path == PUBLIC_CALL
    expected = engine.run(["y"], {"x": x})[0]
    assert np.array_equal(binding.get_outputs()[0].numpy(), expected)


def test_what_crashes_or_flatters_is_refused(graphs: Graphs) -> None:
    halves, floats = (
        graphs.of_text(
            f"lstm_{dtype}",
            f"""({dtype}[1,1,4] x) => ({dtype}[1,1,1,2] y) {{
                y = LSTM <hidden_size = 2> (x, w, r)
            }}""",
            w=weights(1, 8, 4).astype(of_numpy),
            r=weights(1, 8, 2).astype(of_numpy),
        )
        for dtype, of_numpy in (("float16", "float16"), ("float", "float32"))
    )
    refusals: list[tuple[ExportedModel, Precision, str]] = [
        (halves, "fp16", "fp32 behind casts"),
        (halves, "fp32", "crashes"),
        (floats, "int8", "leaves"),
    ]
    for model, precision, told in refusals:
        with pytest.raises(Unsupported, match=told) as exc_info:
            OrtCpu().refuse(model, {}, Settings(precision=precision))
        assert told == "fp32 behind casts" or exc_info.value.node == "y_node"
    OrtCpu().refuse(floats, {}, Settings())


def counting(graphs: Graphs) -> ExportedModel:
    """Its state grows by one in each run, and with it how many of `x` are found below it."""
    text = """(float[4] x, float[1] s) => (float[1] next, int64[1,n] found) {
        next = Add(s, one) below = Less(x, s) found = NonZero(below)
    }"""
    model = graphs.of_text("counting", text, one=np.ones(1, np.float32))
    return replace(model, states=(StatePair("s", "next"),))


@ENGINE_CALLS
def test_the_size_may_change_with_a_state(options: dict[str, OptionValue], graphs: Graphs) -> None:
    with OrtCpu().compile(counting(graphs), {}, Settings(options=options)) as session:
        (lane,) = session.lanes
        assert lane.advancing() is None, "the loop in C would bind nothing anew"
        lane.bind({"x": np.arange(4, dtype=np.float32), "s": np.zeros(1, np.float32)})
        for size in range(5):
            lane.run()
            assert lane.outputs()["found"].shape == (1, size)
            lane.advance()
        assert session.execution.call_path.endswith(
            "outputs allocated by the engine once, and again for other inputs"
        )


@ENGINE_CALLS
def test_the_size_may_change_at_random(options: dict[str, OptionValue], graphs: Graphs) -> None:
    text = """(float[64] x) => (int64[1,n] found) {
        r = RandomNormalLike <seed = 1.0> (x) above = Greater(r, x) found = NonZero(above)
    }"""
    model = graphs.of_text("random_sizes", text)
    model = replace(model, uncompared=diagnostic("reference_not_deterministic", references="onnx"))
    with OrtCpu().compile(model, {}, Settings(options=options)) as session:
        (lane,) = session.lanes
        assert not lane.calls
        lane.bind({"x": np.zeros(64, np.float32)})
        sizes = set()
        for _ in range(20):
            lane.run()
            sizes.add(lane.outputs()["found"].shape[1])
        assert len(sizes) > 1
        assert session.execution.call_path.endswith("allocated by the engine in each run")


def test_quantised_convolutions_are_fused_and_what_stays_in_fp32_is_named(graphs: Graphs) -> None:
    model = quantised_conv(graphs, "half_quantised", tail="Conv(cd, float_kernel)")
    with OrtCpu().compile(model, {"batch": 1}, Settings(precision="int8")) as session:
        assert "QLinearConv" in {node.op for node in session.execution.placement}
        (warning,) = session.execution.warnings
    assert (warning.code, warning.parameters["precision"]) == ("mixed_precision", "int8")
    assert "y_node" in str(warning.parameters["nodes"])


def test_a_quantised_file_that_is_not_optimised_runs_in_fp32(graphs: Graphs) -> None:
    model = quantised_conv(graphs, "unfused")
    settings = Settings(precision="int8", options={"graph_optimization": "off"})
    with OrtCpu().compile(model, {"batch": 1}, settings) as session:
        assert session.execution.precision == "fp32"


def test_the_precision_is_that_of_the_kernels(graphs: Graphs) -> None:
    """Half precision behind casts, in a file for which there is no such kernel, and integers."""
    behind_casts = "h = Cast <to = 10> (x) p = MatMul(h, w) y = Cast <to = 1> (p)"
    for kind, dtype, nodes, precision in (
        ("float", "float32", behind_casts, "fp32"),
        ("float16", "float16", "y = MatMul(x, w)", "fp32"),
        ("int64", "", "y = Add(x, x)", "integer"),
    ):
        reference = Reference({"x": weights(1, 4).astype(dtype)}, {}) if dtype else None
        text = f"({kind}[1,4] x) => ({kind}[1,4] y) {{ {nodes} }}"
        w = weights(4, 4).astype(np.float16)
        with opened(graphs.of_text(f"typed_{kind}", text, reference, w=w)) as session:
            assert session.execution.precision == precision
