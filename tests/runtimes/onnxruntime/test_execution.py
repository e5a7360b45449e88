"""The executed precision is the engine's: never the label of the file."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from app.contract.graphs import constant, node, weights
from exporters.types import Reference, TensorSpec
from runtimes.onnxruntime import execution
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.runtimes.contract import ONE_THREAD
from tests.runtimes.graphs import Graphs, quantised_conv


def test_a_graph_of_one_type_needs_no_recording_which_would_say_the_same(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in (graphs.dense, graphs.step, graphs.lookup):
        with OrtCpu().compile(model, {"batch": 1}, ONE_THREAD) as session:
            quick = session.execution
        assert quick.inspection_ms == 0
        with monkeypatch.context() as patch:
            patch.setattr(execution, "_keeps_type", lambda op, domain: False)
            with OrtCpu().compile(model, {"batch": 1}, ONE_THREAD) as session:
                second_execution = session.execution
        assert second_execution.inspection_ms > 0
        assert quick.precision == second_execution.precision == "fp32"
        assert {node.provider for node in second_execution.placement} == {"CPUExecutionProvider"}


def test_quantised_convolutions_run_in_int8(graphs: Graphs) -> None:
    model = quantised_conv(graphs, "quantised")
    settings = Settings(precision="int8", threads=1)
    with OrtCpu().compile(model, {"batch": 1}, settings) as session:
        assert session.execution.precision == "int8"
        assert "QLinearConv" in {node.op for node in session.execution.placement}
        assert session.execution.warnings == ()


def test_what_stays_in_fp32_is_named(graphs: Graphs) -> None:
    model = quantised_conv(graphs, "half_quantised", tail="Conv")
    with OrtCpu().compile(model, {"batch": 1}, Settings(precision="int8")) as session:
        (warning,) = session.execution.warnings
    assert (warning.code, warning.parameters["precision"]) == ("mixed_precision", "int8")
    assert "y_node" in str(warning.parameters["nodes"])


def test_a_quantised_file_that_is_not_optimised_runs_in_fp32(graphs: Graphs) -> None:
    model = quantised_conv(graphs, "unfused")
    settings = Settings(precision="int8", options={"graph_optimization": "off"})
    with OrtCpu().compile(model, {"batch": 1}, settings) as session:
        assert session.execution.precision == "fp32"


def test_half_precision_behind_casts_is_fp32(graphs: Graphs) -> None:
    x = weights(1, 4)
    model = graphs.save(
        "halves_inside",
        [
            node("Cast", ["x"], ["h"], to=onnx.TensorProto.FLOAT16),
            node("MatMul", ["h", "w"], ["p"]),
            node("Cast", ["p"], ["y"], to=onnx.TensorProto.FLOAT),
        ],
        [TensorSpec("x", "float32", (1, 4))],
        [TensorSpec("y", "float32", (1, 3))],
        [constant("w", weights(4, 3).astype(np.float16))],
        references=[({}, Reference({"x": x}, {"y": x @ weights(4, 3)}))],
    )
    with OrtCpu().compile(model, {}, ONE_THREAD) as session:
        assert session.execution.precision == "fp32"


def test_a_half_precision_file_is_fp32_where_there_is_no_such_kernel(graphs: Graphs) -> None:
    w = weights(4, 3).astype(np.float16)
    x = weights(1, 4).astype(np.float16)
    model = graphs.save(
        "halves",
        [node("MatMul", ["x", "w"], ["y"])],
        [TensorSpec("x", "float16", (1, 4))],
        [TensorSpec("y", "float16", (1, 3))],
        [constant("w", w)],
        references=[({}, Reference({"x": x}, {"y": x @ w}))],
    )
    with OrtCpu().compile(model, {}, ONE_THREAD) as session:
        assert session.execution.precision == "fp32"


def test_integers_alone_are_called_so(graphs: Graphs) -> None:
    specs = [TensorSpec(name, "int64", (4,)) for name in ("x", "y")]
    model = graphs.save("integers", [node("Add", ["x", "x"], ["y"])], specs[:1], specs[1:])
    with OrtCpu().compile(model, {}, ONE_THREAD) as session:
        assert session.execution.precision == "integer"


def test_without_inputs_to_run_with_it_says_unknown(graphs: Graphs) -> None:
    model = graphs.save(
        "unread",
        [node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT)],
        [TensorSpec("x", "int64", (4,))],
        [TensorSpec("y", "float32", (4,))],
    )
    with OrtCpu().compile(model, {}, ONE_THREAD) as session:
        assert session.execution.precision == "unknown"
        assert session.execution.warnings
