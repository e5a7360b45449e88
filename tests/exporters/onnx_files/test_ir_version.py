"""A copy of a graph at an earlier IR version, and what in a graph needs the later one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from exporters.onnx_files.inquiries import features, write_copy
from tests.exporters.support import model_of


def graph(*constants: TensorProto, ir_version: int = 10) -> onnx.ModelProto:
    """y = x + w, with metadata at the node, and these constants beside it."""
    text = "(float[4] x) => (float[4] y) { y = Add(x, w) }"
    proto = model_of(text, {"w": np.arange(4, dtype=np.float32)})
    proto.graph.node[0].metadata_props.add(key="exported_from", value="a module")
    proto.graph.initializer.extend(constants)
    proto.ir_version = ir_version
    return proto


def test_a_copy_differs_in_its_version_alone(tmp_path: Path) -> None:
    path, copy, model = tmp_path / "model.onnx", tmp_path / "copy.onnx", graph()
    onnx.save(model, path)
    content_before = path.read_bytes()
    assert write_copy(path, copy, 9) == ()
    assert path.read_bytes() == content_before
    model.ir_version = 9
    assert onnx.load(copy) == model


@pytest.mark.parametrize(
    ("kind", "since"), [("FLOAT8E5M2", 9), ("INT4", 10), ("FLOAT4E2M1", 11), ("INT2", 13)]
)
def test_a_type_of_a_later_version_is_named_and_nothing_is_written(
    tmp_path: Path, kind: str, since: int
) -> None:
    number = TensorProto.DataType.Value(kind)
    model = graph(TensorProto(name="narrow", dims=[0], data_type=number), ir_version=since)
    path, copy = tmp_path / "model.onnx", tmp_path / "copy.onnx"
    onnx.save(model, path)
    assert write_copy(path, copy, since - 1) == (f"the type {kind}",)
    assert not copy.exists()
    assert write_copy(path, copy, since) == ()


def test_an_overload_of_a_function_and_a_type_within_the_body_of_a_node_need_version_10() -> None:
    model = graph()
    model.graph.node[0].overload = "of two"
    assert features(model) == {("NodeProto.overload", 10)}
    narrow = helper.make_tensor("narrow", TensorProto.UINT4, [2], b"\0", raw=True)
    body = helper.make_graph([helper.make_node("Constant", [], ["c"], value=narrow)], "b", [], [])
    model = graph()
    branches: dict[str, Any] = {"then_branch": body, "else_branch": body}
    model.graph.node.append(helper.make_node("If", ["x"], ["z"], **branches))
    assert features(model) == {("the type UINT4", 10)}


@pytest.mark.parametrize(("of_file", "version"), [(onnx.IR_VERSION + 1, 9), (10, 7)])
def test_versions_that_are_not_known_are_left_alone(
    tmp_path: Path, of_file: int, version: int
) -> None:
    path, copy = tmp_path / "model.onnx", tmp_path / "copy.onnx"
    onnx.save(graph(ir_version=of_file), path)
    assert write_copy(path, copy, version)
    assert not copy.exists()


def test_weights_in_another_file_are_linked_beside_the_copy(tmp_path: Path) -> None:
    folder, copy_folder = tmp_path / "model", tmp_path / "copy"
    folder.mkdir()
    copy_folder.mkdir()
    external: dict[str, Any] = {"location": "model.weights", "size_threshold": 0}
    onnx.save(graph(), folder / "model.onnx", save_as_external_data=True, **external)
    assert write_copy(folder / "model.onnx", copy_folder / "model.onnx", 9) == ()
    assert (copy_folder / "model.weights").samefile(folder / "model.weights")
    engine = onnxruntime.InferenceSession(copy_folder / "model.onnx")
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(engine.run(None, {"x": x})[0], [1, 2, 3, 4])
