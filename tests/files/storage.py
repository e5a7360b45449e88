"""Files that keep their weights elsewhere: in download caches, behind links, beyond 2 GiB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data

from tests.files.kinds import FLOAT, Kind, draw, model, saved, value
from tests.files.networks import dense

node = helper.make_node
BEYOND = 2**31 + 4096
"""The first byte of weights behind a hole of more than 2 GiB."""


def _external(folder: Path, location: str, name: str = "model.onnx") -> Path:
    path = folder / name
    (folder / location).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(dense(), path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def _hub_cache(folder: Path) -> Path:
    """The layout of Hugging Face's cache: links in a snapshot to blobs named by their content."""
    blobs = folder / "blobs"
    snapshot = folder / "snapshots" / "abc" / "onnx"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    path = _external(snapshot, "model.onnx_data")
    for blob, file in (("1111", path), ("2222", snapshot / "model.onnx_data")):
        file.rename(blobs / blob)
        file.symlink_to(Path("../../../blobs") / blob)
    return path


def _hard_links(folder: Path) -> Path:
    """A folder that a backup or a package store has linked: every file has two names."""
    original, linked_folder = folder / "original", folder / "linked"
    original.mkdir()
    linked_folder.mkdir()
    _external(original, "weights.bin")
    for file in original.iterdir():
        (linked_folder / file.name).hardlink_to(file)
    return linked_folder / "model.onnx"


def _link_to_file(folder: Path) -> Path:
    (folder / "real").mkdir()
    target = saved(dense(), folder / "real", "dense")
    (folder / "link.onnx").symlink_to(target)
    return folder / "link.onnx"


def _oversized_file(folder: Path) -> Path:
    """Weights at offsets before and behind a hole, so that the file is larger than 2 GiB."""
    made = model(
        [node("MatMul", ["x", "near"], ["a"]), node("MatMul", ["a", "far"], ["y"])],
        [value("x", FLOAT, ["batch", 16])],
        [value("y", FLOAT, ["batch", 16])],
    )
    data = folder / "weights.bin"
    with data.open("wb") as file:
        for name, offset, seed in (("near", 0, 1), ("far", BEYOND, 2)):
            array = draw(16, 16, seed=seed)
            tensor = TensorProto(
                name=name, data_type=FLOAT, dims=[16, 16], raw_data=array.tobytes()
            )
            set_external_data(tensor, "weights.bin", offset, array.nbytes)
            tensor.ClearField("raw_data")
            made.graph.initializer.append(tensor)
            file.seek(offset)
            file.write(array.tobytes())
    return saved(made, folder, "beyond")


def _two_files(folder: Path) -> Path:
    """Each tensor in a file of its own, as torch's exporter writes large models."""
    path = folder / "model.onnx"
    proto = dense()
    onnx.save(
        proto, path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
    )
    return path


def _unusual_name(folder: Path) -> Path:
    path = folder / "modèle (1) 量化.onnx"
    path.write_bytes(dense().SerializeToString())
    return path


def _kind(name: str, build: Callable[[Path], Path]) -> Kind:
    return Kind("where weights lie", name, build)


KINDS = (
    _kind("external", lambda folder: _external(folder, "weights.bin")),
    _kind("external-in-folder", lambda folder: _external(folder, "data/weights.bin")),
    _kind("external-two-files", _two_files),
    _kind("external-beyond-2-gib", _oversized_file),
    _kind("cache-of-links", _hub_cache),
    _kind("hard-links", _hard_links),
    _kind("link-to-file", _link_to_file),
    _kind("name-unusual", _unusual_name),
)
