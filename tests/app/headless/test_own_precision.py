"""A file that computes in a type of its own is not warned of that type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.workers.execution_facts import precision_diagnostics
from exporters.types import ExportedModel
from runtimes.execution import Execution
from tests.app.headless.batch import rows, run


def save_quantised(path: Path) -> None:
    """x -> Q/DQ -> Conv with 8-bit weights -> Q/DQ, as quantising tools write it."""
    arrays: dict[str, np.ndarray] = {
        "s": np.array(0.05, np.float32),
        "z": np.array(0, np.int8),
        "k": np.random.default_rng(0).integers(-90, 90, (8, 4, 3)).astype(np.int8),
    }
    edges = [("QuantizeLinear", "x", "xq"), ("DequantizeLinear", "xq", "xd")]
    edges += [("DequantizeLinear", "k", "kd"), ("QuantizeLinear", "c", "cq")]
    edges += [("DequantizeLinear", "cq", "y")]
    nodes = [
        helper.make_node(op, [source, "s", "z"], [output_name]) for op, source, output_name in edges
    ]
    nodes.insert(3, helper.make_node("Conv", ["xd", "kd"], ["c"]))
    save(path, nodes, (1, 4, 10), (1, 8, 8), TensorProto.FLOAT, arrays)


def save_doubles(path: Path) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    save(path, [node], (1, 8), (1, 8), TensorProto.DOUBLE, {"w": np.eye(8)})


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
    kind: int,
    arrays: dict[str, np.ndarray],
) -> None:
    ends = [
        helper.make_tensor_value_info(n, kind, s)
        for n, s in (("x", input_shape), ("y", output_shape))
    ]
    initialisers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], initialisers)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)


def test_the_types_of_a_file_are_what_was_asked_for(work: Path) -> None:
    save_quantised(work / "quantised.onnx")
    save_doubles(work / "doubles.onnx")
    models = ("--models", "quantised.onnx,doubles.onnx", "--runtimes", "ort-cpu")
    code, out, errors = run("--headless", *models, "--preset", "glance", "--rounds", "1")
    assert code == 0, out + errors
    (folder,) = (work / "graphlap-results").iterdir()
    precisions = {row["model"]: row["precision"] for row in rows(folder)}
    assert precisions["quantised.onnx"] == "int8"
    assert not any("precision_changed" in row["warning_codes"] for row in rows(folder))


@pytest.mark.parametrize(
    ("asked", "narrowest", "executed", "warns"),
    [
        ("fp32", "fp32", "fp16", True),
        ("fp32", "int8", "int8+fp16", True),
        ("fp32", "fp32", "unknown", True),
        ("int8", "int8", "fp32", True),
        ("fp16", "fp16", "fp32", True),
        ("fp32", "fp32", "integer", False),
        ("fp32", "int8", "int8+fp32", False),
        ("fp32", "fp16", "fp16", False),
    ],
)
def test_another_type_than_the_files_is_warned_of(
    asked: str, narrowest: str, executed: str, warns: bool
) -> None:
    model = ExportedModel(
        name="m", suite="", family="", path="", sha256="", opset=17,
        precision=asked, inputs=(), outputs=(), axes={}, references={}, reference="",  # type: ignore[arg-type]
        narrowest=narrowest,
    )  # fmt: skip
    assert bool([*precision_diagnostics(model, Execution("p", executed, "d", "c"))]) == warns
