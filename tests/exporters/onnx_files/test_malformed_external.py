"""Weights in another file whose length, offset or type is wrong: said where the file is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import external_files, inspect
from exporters.types import ExportError, GraphlapError, NotBenchmarkable
from exporters.worker.export import export

SHAPE = (4, 4)


def saved(
    path: Path, entries: Mapping[str, str] | None = None, kind: int = TensorProto.FLOAT
) -> Path:
    """y = x @ w with w in `weights.bin`, whose place is given as `entries` say."""
    weights = TensorProto(name="w", dims=SHAPE, data_type=kind)
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "weights.bin", **(entries or {})}.items():
        weights.external_data.add(key=key, value=value)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y])
    graph.initializer.append(weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
    (path.parent / "weights.bin").write_bytes(np.ones(32, np.float32).tobytes())
    return path


@pytest.mark.parametrize(
    "entries",
    [
        {"length": "60"},
        {"length": "68"},
        {"length": "128"},
        {"length": "6"},
        {"offset": "-4", "length": "64"},
        {"offset": "80", "length": "64"},
        {"offset": "80"},
        {"length": "-64"},
        {"length": "sixty"},
    ],
    ids=str,
)
def test_a_wrong_length_or_offset_is_told_of_the_file(
    tmp_path: Path, entries: dict[str, str]
) -> None:
    with pytest.raises(ExportError) as caught:
        inspect(saved(tmp_path / "net.onnx", entries))
    assert "'w'" in caught.value.cause
    assert "custom-ops" not in str(caught.value)


@pytest.mark.parametrize(
    "entries", [{}, {"length": "64"}, {"offset": "64", "length": "64"}, {"length": "0"}], ids=str
)
def test_a_right_length_is_taken(tmp_path: Path, entries: dict[str, str]) -> None:
    assert inspect(saved(tmp_path / "net.onnx", entries))


@pytest.mark.parametrize("kind", [TensorProto.STRING, TensorProto.UNDEFINED])
def test_a_type_that_no_file_holds_is_told(tmp_path: Path, kind: int) -> None:
    path = saved(tmp_path / "net.onnx", kind=kind)
    with pytest.raises(ExportError):
        external_files(path, onnx.load(path, load_external_data=False))


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("INT4", 8),
        ("UINT4", 8),
        ("BFLOAT16", 30),
        ("FLOAT8E4M3FN", 15),
        ("BOOL", 15),
        ("DOUBLE", 120),
    ],
)
def test_what_onnx_writes_is_whole(tmp_path: Path, kind: str, count: int) -> None:
    data_type = TensorProto.DataType.Value(kind)
    weights = helper.make_tensor("w", data_type, (3, 5), bytes(count), raw=True)
    graph = helper.make_graph([], "g", [], [], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, size_threshold=0)
    assert external_files(path, onnx.load(path, load_external_data=False))


def test_a_file_of_known_operators_that_nobody_loads_asks_for_no_library(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.opset_import[0].version = 99
    path.write_bytes(model.SerializeToString())
    with pytest.raises(GraphlapError) as caught:
        export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    assert not isinstance(caught.value, NotBenchmarkable)
    assert "custom-ops" not in caught.value.remedy
