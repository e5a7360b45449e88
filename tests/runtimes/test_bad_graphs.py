"""The engines on the CPU tell one bad graph from another, in one line with a remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.contract.graphs import weights
from exporters.types import Reference
from runtimes.errors import CompileFault, Unsupported
from runtimes.options import Settings
from runtimes.registry import load
from tests.runtimes.contract import ONE_THREAD, agrees, computes, refusal
from tests.runtimes.graphs import Graphs, quantised_conv

pytestmark = pytest.mark.parametrize("name", ["ort-cpu", "openvino-cpu"])


@pytest.mark.parametrize("operator", ["Teleport", "com.microsoft.Teleport"])
def test_an_operator_that_nobody_knows_is_unsupported_and_named(
    graphs: Graphs, name: str, operator: str
) -> None:
    text = f"(float[4] x) => (float[4] y) {{ y = {operator}(x) }}"
    fault = refusal(name, graphs.of_text("unknown", text))
    assert isinstance(fault, Unsupported)
    assert "Teleport" in fault.cause


def test_a_graph_whose_shapes_do_not_fit_is_a_compile_fault_that_names_the_node(
    graphs: Graphs, name: str
) -> None:
    text = "(float[4] x) => (float[4] y) { y = MatMul(x, w) }"
    fault = refusal(name, graphs.of_text("misfit", text, w=weights(5, 4)))
    assert isinstance(fault, CompileFault)
    assert "y_node" in fault.cause or "'y'" in fault.cause


def test_a_file_that_is_no_onnx_truncated_or_gone_is_a_compile_fault(
    graphs: Graphs, name: str
) -> None:
    model = graphs.of_text("damaged", "(float[4] x) => (float[4] y) { y = Relu(x) }")
    whole = Path(model.path).read_bytes()
    for content in (b"hello world", whole[: len(whole) // 2]):
        Path(model.path).write_bytes(content)
        assert isinstance(refusal(name, model), CompileFault)
    Path(model.path).unlink()
    assert isinstance(refusal(name, model), CompileFault)


def test_an_output_of_unknown_size_is_left_to_the_engine_and_said_so(
    graphs: Graphs, name: str
) -> None:
    model = graphs.of_text("nonzero", "(float[4] x) => (int64[1,n] y) { y = NonZero(x) }")
    x = np.array([0, 5, 0, 7], np.float32)
    reference = Reference({"x": x}, {"y": np.array([[1, 3]])})
    with load(name).compile(model, {}, ONE_THREAD) as session:
        lane = session.lanes[0]
        assert "allocated by the engine" in session.execution.call_path
        assert computes(lane, reference)
        lane.poison()
        assert not agrees(lane.outputs(), reference)
        lane.bind({"x": np.zeros(4, np.float32)})
        lane.run()
        assert lane.outputs()["y"].shape == (1, 0)


def test_the_precision_is_read_from_a_run_or_unknown(graphs: Graphs, name: str) -> None:
    quantised = quantised_conv(graphs, "quantised")
    settings = Settings(precision="int8", threads=1)
    with load(name).compile(quantised, {"batch": 1}, settings) as session:
        assert session.execution.precision == "int8"
        assert session.execution.warnings == ()
    unread = graphs.of_text("unread", "(int64[4] x) => (float[4] y) { y = Cast <to = 1> (x) }")
    with load(name).compile(unread, {}, ONE_THREAD) as session:
        assert session.execution.precision == "unknown"
        assert session.execution.warnings
