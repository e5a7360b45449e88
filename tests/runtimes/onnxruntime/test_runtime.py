"""The CPU provider keeps the contract, states what it executed, and tells bad graphs apart."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest

from app.contract.graphs import constant, node, weights
from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel, Precision, Reference, StatePair, TensorSpec
from runtimes.base import Session
from runtimes.errors import OutOfMemory, RunFault, Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.onnxruntime.session import DIRECT_CALL, PUBLIC_CALL, timed_call
from runtimes.options import OptionValue, Settings
from tests.runtimes.contract import ONE_THREAD, RuntimeContract, refusal
from tests.runtimes.graphs import Graphs, quantised_conv, vector
from tests.runtimes.loop_in_c import ENGINE_CALLS

IN_PYTHON = Settings(threads=1, options={"call": "python"})


class TestOrtCpu(RuntimeContract):
    name = "ort-cpu"


def opened(model: ExportedModel, settings: Settings = ONE_THREAD, **axes: int) -> Session:
    return OrtCpu().compile(model, axes, settings)


def test_an_operator_without_a_kernel_is_unsupported_and_named(graphs: Graphs) -> None:
    relu = node("Relu", ["x"], ["y"])
    model = graphs.save("kernel", [relu], [vector("x", "int16")], [vector("y", "int16")])
    fault = refusal("ort-cpu", model)
    assert isinstance(fault, Unsupported)
    assert fault.node == "y_node"
    assert "Relu" in fault.cause


@pytest.mark.parametrize(("opset", "ir_version"), [(999, 10), (20, 999)])
def test_a_file_newer_than_the_engine_is_unsupported(
    graphs: Graphs, opset: int, ir_version: int
) -> None:
    nodes = [node("Relu", ["x"], ["y"])]
    model = graphs.save("newer", nodes, [vector("x")], [vector("y")])
    proto = onnx.load(model.path)
    proto.opset_import[0].version, proto.ir_version = opset, ir_version
    onnx.save(proto, model.path)
    fault = refusal("ort-cpu", model)
    assert isinstance(fault, Unsupported)
    assert "999" in fault.cause


def test_an_axis_that_the_graph_cannot_take_fails_in_the_run_and_names_the_node(
    graphs: Graphs,
) -> None:
    model = graphs.save(
        "reshape",
        [node("Reshape", ["x", "shape"], ["y"])],
        [vector("x", "float32", "batch", 4)],
        [vector("y", "float32", 4, 4)],
        [constant("shape", np.array([4, 4]))],
        axes={"batch": 4},
    )
    with opened(model, batch=3) as session, pytest.raises(Exception) as exc_info:
        session.lanes[0].run()
    fault = session.fault(exc_info.value)
    assert isinstance(fault, RunFault)
    assert "y_node" in fault.cause


def test_running_out_of_memory_is_told_apart(graphs: Graphs) -> None:
    nodes = [
        node("Expand", ["x", "size"], ["wide"]),
        node("ReduceSum", ["wide"], ["y"], keepdims=0),
    ]
    model = graphs.save(
        "huge",
        nodes,
        [vector("x", "float32", 1), vector("size", "int64", 1)],
        [TensorSpec("y", "float32", ())],
    )
    with opened(model) as session:
        lane = session.lanes[0]
        lane.bind({"x": np.ones(1, np.float32), "size": np.array([2**44])})
        with pytest.raises(Exception) as exc_info:
            lane.run()
        assert isinstance(session.fault(exc_info.value), OutOfMemory)


def test_texts_are_timed_through_the_plain_call(graphs: Graphs) -> None:
    text = [vector(name, "str") for name in ("x", "y")]
    model = graphs.save("text", [node("Identity", ["x"], ["y"])], text[:1], text[1:])
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
        graphs.save(
            f"lstm_{dtype}",
            [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)],
            [vector("x", dtype, 1, 1, 4)],
            [vector("y", dtype, 1, 1, 1, 2)],
            [constant(n, weights(1, 8, k).astype(dtype)) for n, k in (("w", 4), ("r", 2))],
        )
        for dtype in ("float16", "float32")
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
    model = graphs.save(
        "counting",
        [
            node("Add", ["s", "one"], ["next"]),
            node("Less", ["x", "s"], ["below"]),
            node("NonZero", ["below"], ["found"]),
        ],
        [vector("x"), vector("s", "float32", 1)],
        [vector("next", "float32", 1), vector("found", "int64", 1, "n")],
        [constant("one", np.ones(1, np.float32))],
    )
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
    model = graphs.save(
        "random_sizes",
        [
            node("RandomNormalLike", ["x"], ["r"], seed=1.0),
            node("Greater", ["r", "x"], ["above"]),
            node("NonZero", ["above"], ["found"]),
        ],
        [vector("x", "float32", 64)],
        [vector("found", "int64", 1, "n")],
    )
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
    model = quantised_conv(graphs, "half_quantised", tail="Conv")
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
    x, ends = weights(1, 4), (onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT)
    behind_casts = [
        node("Cast", ["x"], ["h"], to=ends[0]),
        node("MatMul", ["h", "w"], ["p"]),
        node("Cast", ["p"], ["y"], to=ends[1]),
    ]
    for dtype, nodes, precision in (
        ("float32", behind_casts, "fp32"),
        ("float16", [node("MatMul", ["x", "w"], ["y"])], "fp32"),
        ("int64", [node("Add", ["x", "x"], ["y"])], "integer"),
    ):
        model = graphs.save(
            f"typed_{dtype}",
            nodes,
            [vector("x", dtype, 1, 4)],
            [vector("y", dtype, 1, 4)],
            [constant("w", weights(4, 4).astype(np.float16))],
            references=[({}, Reference({"x": x.astype(dtype)}, {}))] if dtype != "int64" else [],
        )
        with opened(model) as session:
            assert session.execution.precision == precision
