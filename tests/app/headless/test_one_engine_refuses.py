"""A reference or an engine that refuses a file stops no other engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from tests.app.headless.batch import rows, run
from tests.exporters.graphs import graph, tensor


def index_beyond() -> ModelProto:
    """A constant index outside its table: OpenVINO reads zeros."""
    nodes = [
        helper.make_node("Gather", ["t", "i"], ["g"]),
        helper.make_node("Add", ["x", "g"], ["y"]),
    ]
    constants = {"t": np.ones(3, np.float32), "i": np.array([0, 1, 3])}
    return graph(nodes, [tensor("x", ["rows", 3])], [tensor("y", ["rows", 3])], constants)


def version_beyond() -> ModelProto:
    model = graph(
        [helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("y", [4])], {}
    )
    model.ir_version = 99
    return model


@pytest.mark.parametrize(
    ("model", "sizes", "ort_status", "word", "is_checked"),
    [
        (index_beyond(), ("--axis", "rows=2"), "export_failed", "index", False),
        (version_beyond(), (), "unsupported", "IR version 99", True),
    ],
    ids=["index", "version"],
)
def test_the_other_engine_is_measured(
    work: Path,
    model: ModelProto,
    sizes: tuple[str, ...],
    ort_status: str,
    word: str,
    is_checked: bool,
) -> None:
    onnx.save(model, work / "net.onnx")
    lengths = ("--preset", "glance", "--rounds", "1", "--out", "run")
    run(
        "--headless", "--models", "net.onnx", "--runtimes", "ort-cpu,openvino-cpu", *sizes, *lengths
    )
    by_runtime = {row["runtime"]: row for row in rows(work / "run")}
    refusal, other = by_runtime["ort-cpu"], by_runtime["openvino-cpu"]
    assert refusal["status"] == ort_status and word in refusal["reason"]
    assert other["status"] == "ok", other["reason"]
    assert other["output_ok"] == ("true" if is_checked else "")
    assert ("no_reference" in other["warning_codes"]) != is_checked
