"""Converted graphs are the same everywhere, and converted once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from exporters.types import NotBenchmarkable, Precision
from tests.exporters.precision.conversions import (
    ask,
    export_file,
)
from tests.exporters.support import WorkerProcess
from tests.seldom import seldom_but


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Another process with a cache of its own."""
    process = WorkerProcess(tmp_path_factory.mktemp("elsewhere"))
    yield process
    process.close()


@pytest.mark.parametrize("precision", seldom_but(("int8",), ["fp16", "int8"]))
def test_two_processes_write_the_same_bytes(
    worker: WorkerProcess, elsewhere: WorkerProcess, precision: Precision
) -> None:
    first_result, second_result = (
        ask(process, "cnn_tiny", precision) for process in (worker, elsewhere)
    )
    assert first_result.path != second_result.path
    assert first_result.sha256 == second_result.sha256


def test_a_graph_that_is_fp16_or_int8_already_is_taken_as_it_is(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    for precision in ("fp16", "int8"):
        result = ask(worker, "mlp", precision)
        path = tmp_path / f"{precision}.onnx"
        path.write_bytes(Path(result.path).read_bytes())
        again = export_file(path, precision, tmp_path / "cache", point={"batch": 2})
        assert again.sha256 == result.sha256
    with pytest.raises(NotBenchmarkable, match="weights in fp16: give the fp32 graph"):
        export_file(tmp_path / "fp16.onnx", "int8", tmp_path / "cache", point={"batch": 2})


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_graph_without_operators_of_onnx_is_converted(
    precision: Precision, tmp_path: Path
) -> None:
    """As xgboost's converter writes it: its one domain is ai.onnx.ml."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [2, 3]), ("y", [2, 1]))
    ]
    node = helper.make_node(
        "LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml",
        coefficients=[1.0, 2.0, 3.0], intercepts=[0.5],
    )  # fmt: skip
    graph = helper.make_graph([node], "fitted", ends[:1], ends[1:])
    domain = [helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domain, ir_version=8), tmp_path / "ml.onnx")
    model = export_file(tmp_path / "ml.onnx", precision, tmp_path / "cache")
    assert model.references
    assert [spec.name for spec in model.outputs] == ["y"]
