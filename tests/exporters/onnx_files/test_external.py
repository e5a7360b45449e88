"""Weights in other files: of download caches and backups they are found, of nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import inspect
from exporters.types import ExportedModel, ExportError, load_reference
from exporters.worker.export import export
from tests.exporters.graphs import save_affine


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


def test_a_folder_that_is_a_link_and_a_model_that_is_one_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    weights = save_affine(tmp_path / "real" / "a.onnx", external="w.bin")
    (tmp_path / "folder").symlink_to("real")
    assert runs_as(exported(tmp_path / "folder" / "a.onnx", tmp_path / "c"), weights)
    (tmp_path / "alone.onnx").symlink_to("real/a.onnx")
    assert runs_as(exported(tmp_path / "alone.onnx", tmp_path / "c2"), weights)


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
