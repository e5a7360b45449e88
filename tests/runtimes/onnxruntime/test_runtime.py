"""The CPU provider keeps the contract, and tells one bad graph from another."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest

from app.contract.graphs import constant, node, weights
from exporters.codec import to_json
from exporters.diagnostics.catalogue import codes
from exporters.types import ExportedModel, TensorSpec
from runtimes.base import Session
from runtimes.errors import OutOfMemory, RunFault, RuntimeFault, Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.onnxruntime.session import DIRECT_CALL, PUBLIC_CALL, timed_call
from runtimes.options import Settings
from tests.runtimes.contract import ONE_THREAD, RuntimeContract
from tests.runtimes.graphs import Graphs, vector

IN_PYTHON = Settings(threads=1, options={"call": "python"})


class TestOrtCpu(RuntimeContract):
    name = "ort-cpu"


def opened(model: ExportedModel, settings: Settings = ONE_THREAD, **axes: int) -> Session:
    return OrtCpu().compile(model, axes, settings)


def refusal(model: ExportedModel, **axes: int) -> RuntimeFault:
    """The fault that compiling ends with: one line, with a remedy."""
    with pytest.raises(RuntimeFault) as exc_info:
        opened(model, ONE_THREAD, **axes)
    assert exc_info.value.remedy
    assert "\n" not in str(exc_info.value)
    assert "onnxruntime_src" not in str(exc_info.value)
    return exc_info.value


def test_an_operator_without_a_kernel_is_unsupported_and_named(graphs: Graphs) -> None:
    relu = node("Relu", ["x"], ["y"])
    model = graphs.save("kernel", [relu], [vector("x", "int16")], [vector("y", "int16")])
    fault = refusal(model)
    assert isinstance(fault, Unsupported)
    assert fault.node == "y_node"
    assert "Relu" in fault.cause


@pytest.mark.parametrize(("opset", "ir_version"), [(999, 10), (20, 999)])
def test_a_file_newer_than_the_engine_is_unsupported(
    graphs: Graphs, opset: int, ir_version: int
) -> None:
    nodes = [node("Relu", ["x"], ["y"])]
    model = graphs.save(
        "newer", nodes, [vector("x")], [vector("y")], opset=opset, ir_version=ir_version
    )
    fault = refusal(model)
    assert isinstance(fault, Unsupported)
    assert "999" in fault.cause


def test_missing_external_data_is_a_compile_fault_that_names_the_file(graphs: Graphs) -> None:
    model = graphs.save(
        "external",
        [node("MatMul", ["x", "w"], ["y"])],
        [vector("x", "float32", 1, 64)],
        [vector("y", "float32", 1, 64)],
        [constant("w", weights(64, 64))],
    )
    proto = onnx.load(model.path)
    onnx.save(proto, model.path, save_as_external_data=True, location="external.weights")
    (graphs.folder / "external.weights").unlink()
    assert "external.weights" in refusal(model).cause


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


@pytest.mark.parametrize("options", [{"call": "c"}, {"build": "library"}])
def test_texts_have_no_call_in_c(graphs: Graphs, options: dict[str, str]) -> None:
    text = [vector(name, "str") for name in ("x", "y")]
    model = graphs.save("text", [node("Identity", ["x"], ["y"])], text[:1], text[1:])
    with pytest.raises(Unsupported), opened(model, Settings(options=options)):
        pass


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


def test_parallel_execution_with_one_thread_warns(graphs: Graphs) -> None:
    options = {"execution_mode": "parallel"}
    with opened(graphs.dense, Settings(threads=1, options=options), batch=1) as session:
        assert "option_without_effect" in codes(session.execution.warnings)
    with opened(graphs.dense, Settings(threads=2, options=options), batch=1) as session:
        assert not session.execution.warnings


def test_what_crashes_or_flatters_is_refused_without_the_engine(graphs: Graphs) -> None:
    sizes = {"x": (1, 1, 4), "y": (1, 1, 1, 2)}
    lstm = node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)
    halves = graphs.save(
        "half_lstm",
        [lstm],
        [vector("x", "float16", *sizes["x"])],
        [vector("y", "float16", *sizes["y"])],
        [
            constant("w", weights(1, 8, 4).astype(np.float16)),
            constant("r", weights(1, 8, 2).astype(np.float16)),
        ],
    )
    floats = graphs.save(
        "lstm",
        [lstm],
        [vector("x", "float32", *sizes["x"])],
        [vector("y", "float32", *sizes["y"])],
        [constant("w", weights(1, 8, 4)), constant("r", weights(1, 8, 2))],
    )
    script = """
import json, sys
from exporters.codec import from_json
from exporters.types import ExportedModel
from runtimes.options import Settings
from runtimes.errors import Unsupported
from runtimes.onnxruntime.runtime import OrtCpu
for line in sys.stdin:
    model, precision = json.loads(line)
    try:
        OrtCpu().refuse(from_json(ExportedModel, model), {}, Settings(precision=precision))
        print("taken")
    except Unsupported as error:
        print(error.node, "|", error)
assert "onnxruntime" not in sys.modules
"""
    requests = [(halves, "fp16"), (halves, "fp32"), (floats, "int8"), (floats, "fp32")]
    lines = "".join(json.dumps([to_json(model), how]) + "\n" for model, how in requests)
    process = subprocess.run(
        [sys.executable, "-c", script], input=lines, capture_output=True, text=True, check=True
    )
    fp16, half_lstm, int8_lstm, fp32 = process.stdout.splitlines()
    assert "fp32 behind casts" in fp16
    assert half_lstm.startswith("y_node | ") and "crashes" in half_lstm
    assert int8_lstm.startswith("y_node | ") and "leaves" in int8_lstm
    assert fp32 == "taken"
