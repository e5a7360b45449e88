"""Files that are no graph are told as what they are, whatever they are called."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest

from exporters.foreign_files import foreign
from exporters.onnx_files.model_io import inspect
from exporters.types import ExportError
from tests.exporters.support import save_affine

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


def _zip(member: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(member, b"x")
    return file.getvalue()


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("net.onnx"))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (POINTER, "git lfs pull"),
        (b"", "is empty"),
        (bytes(4096), "unfinished download"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><html></html>", "web page"),
        (b"<HTML lang=en>", "web page"),
        (b"Not Found", "'Not Found'"),
        (b'{"error":"Repository not found"}', "Repository not found"),
        (gzip.compress(b"x", mtime=0), "gzip archive"),
        (_zip("net.onnx"), "zip archive"),
        (_tar(), "tar archive"),
        (_zip("archive/data.pkl"), "torch.onnx.export"),
        (pickle.dumps({}, protocol=2), "torch.onnx.export"),
        ((20).to_bytes(8, "little") + b'{"w":{}}', "torch.onnx.export"),
        (b"\x89HDF\r\n\x1a\n", "tf2onnx.convert --keras"),
        (b"\x1c\0\0\0TFL3", "tf2onnx.convert --tflite"),
        (b"\x1c\0\0\0ORTM", "net.ort"),
    ],
)
def test_what_is_called_a_graph_and_is_none_is_told(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(ExportError) as fault:
        inspect(path)
    assert words in str(fault.value) and fault.value.remedy


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.pt", "torch.onnx.export"),
        ("a.ckpt", "torch.onnx.export"),
        ("a.pb", "--graphdef"),
        ("a.keras", "--keras"),
        ("saved_model.pb", "--saved-model"),
        ("a.engine", "TensorRT"),
        ("a.xml", "OpenVINO"),
    ],
)
def test_what_no_byte_tells_is_told_by_its_ending(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_bytes(b"\x08\1\x12\0")
    fault = foreign(tmp_path / name)
    assert fault is not None and words in str(fault)


def test_weights_beside_a_graph_may_be_a_pointer_too(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    save_affine(path, external="net.data")
    (tmp_path / "net.data").write_bytes(POINTER)
    with pytest.raises(ExportError, match="git lfs pull"):
        inspect(path)


def test_a_graph_is_none_of_these(affine: Path) -> None:
    assert foreign(affine) is None
