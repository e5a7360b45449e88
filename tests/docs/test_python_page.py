"""The programs of the page about Python run one after the other, each of at most ten lines."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.checkout import ROOT
from tests.docs.test_pages import blocks
from tests.processes import python

pytest.importorskip("pandas")
pytest.importorskip("torch")
pytest.importorskip("openvino")

PROGRAMS = blocks(ROOT / "docs" / "python.md", "python")


def network(width: int) -> onnx.ModelProto:
    """A leaky ReLU and a product, of any batch."""
    weights = np.random.default_rng(0).normal(size=(16, width)).astype(np.float32)
    nodes = [
        helper.make_node("LeakyRelu", ["x"], ["h"], alpha=0.1),
        helper.make_node("MatMul", ["h", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", width])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.rare
@pytest.mark.timeout(900)
def test_ten_programs_do_their_tasks_in_ten_lines_each(tmp_path: Path) -> None:
    assert len(PROGRAMS) == 10
    assert max(len(program.strip().splitlines()) for program in PROGRAMS) <= 10
    (tmp_path / "nets").mkdir()
    for path, width in (("net.onnx", 8), ("nets/old.onnx", 8), ("nets/new.onnx", 64)):
        onnx.save(network(width), tmp_path / path)
    for program in PROGRAMS:
        # From standard input, as in a notebook: no source file.
        environment = {**os.environ, "GRAPHLAP_CONFIG": "none"}
        process = python("-", input=program, cwd=tmp_path, env=environment, timeout=300)
        assert process.returncode == 0, f"{program}\n{process.stderr}"
