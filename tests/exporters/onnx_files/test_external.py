"""Weights in other files: of download caches and backups they are found, of nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import external_files, inspect
from exporters.types import ExportedModel, ExportError, load_reference
from exporters.worker import export
from tests.exporters.support import graph, model_of, save_affine


def exported(path: Path, cache: Path) -> ExportedModel:
    return export(ExportRequest(str(path), points=({"batch": 1},), cache_dir=str(cache)))[0]


def runs_as(model: ExportedModel, weights: np.ndarray) -> bool:
    reference = load_reference(model.references["batch=1"])
    expected = reference.inputs["x"] @ weights
    return np.allclose(reference.outputs["y"], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("data", ["model.onnx_data", "./model.onnx_data", "w/../model.onnx_data"])
def test_a_model_in_a_download_cache_is_exported(data: str, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "hub" / "blobs", tmp_path / "hub" / "snapshots" / "abc" / "onnx"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    weights = save_affine(blobs / "model.onnx", external="model.onnx_data")
    model = onnx.load(blobs / "model.onnx", load_external_data=False)
    model.graph.initializer[0].external_data[0].value = data
    onnx.save(model, blobs / "1111")
    (blobs / "model.onnx").unlink()
    (blobs / "model.onnx_data").rename(blobs / "2222")
    (snapshot / "model.onnx").symlink_to("../../../blobs/1111")
    (snapshot / "model.onnx_data").symlink_to("../../../blobs/2222")
    exported_model = exported(snapshot / "model.onnx", tmp_path / "cache")
    assert runs_as(exported_model, weights)
    assert set(exported_model.sources) == {"model.onnx", "model.onnx_data"}


def test_weights_with_several_names_are_exported(tmp_path: Path) -> None:
    """As `cp -al` and deduplicating backups make them."""
    weights = save_affine(tmp_path / "a.onnx", external="w.bin")
    copy = tmp_path / "copy"
    copy.mkdir()
    os.link(tmp_path / "a.onnx", copy / "a.onnx")
    os.link(tmp_path / "w.bin", copy / "w.bin")
    (copy / "sub").symlink_to(".")
    assert runs_as(exported(copy / "a.onnx", tmp_path / "c"), weights)
    assert runs_as(exported(copy / "sub" / "a.onnx", tmp_path / "c2"), weights)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A stranger's model; what is secret lies in a folder beside its own."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_bytes(bytes(1 << 16))
    (tmp_path / "secret" / "real.onnx").write_bytes(b"")
    folder = tmp_path / "model"
    folder.mkdir()
    save_affine(folder / "a.onnx", external="w.bin")
    (folder / "w.bin").unlink()
    (folder / "sub").mkdir()
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "link").symlink_to(tmp_path / "secret" / "key")
    (folder / "chain").symlink_to("link")
    (folder / "self").symlink_to("self")
    return folder / "a.onnx"


PLACES = [
    "../secret/key", "sub/../../secret/key", "out/key", "link", "chain", "sub/../link",
    "./link", "out/../secret/key", "/proc/self/environ", "/etc/passwd", "self", "..", ".",
    "../model/../secret/key", "//etc/passwd", "out", "a\0b", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=lambda place: repr(place)[:30])
@pytest.mark.parametrize("absolute", [False, True])
def test_what_leads_out_of_the_folder_is_refused(place: str, absolute: bool, hostile: Path) -> None:
    model = onnx.load(hostile, load_external_data=False)
    where = str(hostile.parent / place) if absolute else place
    model.graph.initializer[0].external_data[0].value = where
    hostile.write_bytes(model.SerializeToString())
    with pytest.raises(ExportError):
        inspect(hostile)


@pytest.mark.parametrize("place", ["../secret/key", "link", "chain", "key", "out/key"])
def test_a_model_that_is_a_link_opens_no_other_folder(place: str, hostile: Path) -> None:
    """Its own file lies in `blobs`; what a link of the snapshot leads to lies elsewhere."""
    model = onnx.load(hostile, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = place
    blobs = hostile.parent / "blobs"
    blobs.mkdir()
    (blobs / "1111").write_bytes(model.SerializeToString())
    hostile.unlink()
    hostile.symlink_to("blobs/1111")
    with pytest.raises(ExportError):
        inspect(hostile)


def test_a_tensor_in_a_node_is_confined_too(hostile: Path) -> None:
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="link")
    model = onnx.load(hostile, load_external_data=False)
    model.graph.node.add().CopyFrom(helper.make_node("Constant", [], ["k"], value=tensor))
    hostile.write_bytes(model.SerializeToString())
    with pytest.raises(ExportError):
        inspect(hostile)


def saved(
    path: Path, entries: Mapping[str, str] | None = None, kind: int = TensorProto.FLOAT
) -> Path:
    """y = x @ w with w in `weights.bin`, whose place is given as `entries` say."""
    weights = TensorProto(name="w", dims=(4, 4), data_type=kind)
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "weights.bin", **(entries or {})}.items():
        weights.external_data.add(key=key, value=value)
    model = model_of("(float[1,4] x) => (float[1,4] y) { y = MatMul(x, w) }")
    model.graph.initializer.append(weights)
    path.write_bytes(model.SerializeToString())
    (path.parent / "weights.bin").write_bytes(np.ones(32, np.float32).tobytes())
    return path


@pytest.mark.parametrize(
    ("offset", "length", "is_right"),
    [
        *(("", "60", False), ("", "68", False), ("", "128", False), ("", "6", False)),
        *(("-4", "64", False), ("80", "64", False), ("80", "", False), ("", "-64", False)),
        *(("", "sixty", False), ("", "", True), ("", "64", True), ("64", "64", True)),
        ("", "0", True),
    ],
)
def test_a_wrong_length_or_offset_is_told_of_the_file(
    tmp_path: Path, offset: str, length: str, is_right: bool
) -> None:
    entries = {"offset": offset, "length": length}
    path = saved(tmp_path / "net.onnx", {key: value for key, value in entries.items() if value})
    if is_right:
        assert inspect(path)
        return
    with pytest.raises(ExportError) as caught:
        inspect(path)
    assert "'w'" in caught.value.cause
    assert "custom-ops" not in str(caught.value)


@pytest.mark.parametrize("kind", [TensorProto.STRING, TensorProto.UNDEFINED])
def test_a_type_that_no_file_holds_is_told(tmp_path: Path, kind: int) -> None:
    path = saved(tmp_path / "net.onnx", kind=kind)
    with pytest.raises(ExportError):
        external_files(path, onnx.load(path, load_external_data=False))


WRITTEN = {"INT4": 8, "UINT4": 8, "BFLOAT16": 30, "FLOAT8E4M3FN": 15, "BOOL": 15, "DOUBLE": 120}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_onnx_writes_is_whole(tmp_path: Path, kind: str) -> None:
    data_type = TensorProto.DataType.Value(kind)
    model = graph([], [], [], opset=21)
    weights = helper.make_tensor("w", data_type, (3, 5), bytes(WRITTEN[kind]), raw=True)
    model.graph.initializer.append(weights)
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, size_threshold=0)
    assert external_files(path, onnx.load(path, load_external_data=False))


def test_a_file_of_known_operators_that_nobody_loads_asks_for_no_library(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.opset_import[0].version = 99
    path.write_bytes(model.SerializeToString())
    reply, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    assert reply.unfit_at and "custom-ops" not in reply.unfit_at
