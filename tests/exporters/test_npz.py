"""An .npz is judged by its headers: what does not fit takes no memory, and is one sentence."""

from __future__ import annotations

import io
import resource
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.cases.errors import PlanError
from app.plan.expand import expand
from app.plan.models import reject_unusable
from app.plan.plan import parse_plan
from exporters.types import ExportError, TensorSpec
from exporters.user_arrays import axes_of, npz_headers

SPECS = [TensorSpec("x", "float32", ("batch", 64))]


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def packed(path: Path, name: str, *parts: bytes) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for part in parts:
            member.write(part)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


ZEROS = [bytes(1 << 24)] * 16
"""256 MiB that is packed to some 1 MiB."""


@pytest.mark.parametrize("shape", ["(67108864,)", "(1048576, 64)", "(1, 67108864)"])
def test_shapes_are_read_without_what_is_packed(shape: str, tmp_path: Path) -> None:
    packed(tmp_path / "x.npz", "x.npy", header(shape), *ZEROS)
    peak_before = peak_mib()
    if shape == "(1048576, 64)":
        assert axes_of(tmp_path / "x.npz", SPECS) == {"batch": 1048576}
    else:
        with pytest.raises(ExportError):
            axes_of(tmp_path / "x.npz", SPECS)
    assert peak_mib() - peak_before < 100


def _text_member(path: Path) -> None:
    packed(path, "x.txt", b"text")


def _wrong_content(path: Path) -> None:
    packed(path, "x.npy", b"text that is no array")


def _pickle(path: Path) -> None:
    np.savez(path, x=np.array([{}], object))


def _plain_npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.ones((1, 64), np.float32))


def _long_header(path: Path) -> None:
    packed(path, "x.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1), *ZEROS[:4])


def _negative(path: Path) -> None:
    packed(path, "x.npy", header("(-1, 64)"))


def _short(path: Path) -> None:
    packed(path, "x.npy", header("(2, 64)")[:-9])


def _encrypt(path: Path) -> None:
    packed(path, "x.npy", header("(1, 64)"), bytes(256))
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "write",
    [
        _text_member,
        _wrong_content,
        _pickle,
        _plain_npy,
        _long_header,
        _negative,
        _short,
        _encrypt,
    ],
)
def test_what_is_no_array_is_refused(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write(path)
    with pytest.raises(ExportError):
        axes_of(path, SPECS)
    with pytest.raises(PlanError):
        reject_unusable(str(path))
    for key in ("inputs", "accuracy"):
        with pytest.raises(PlanError):
            sweep = {"models": ["mlp"], "runtimes": ["fake"]}
            expand(parse_plan({"sweeps": [sweep], key: str(path)}, "the plan"))


def test_headers_of_all_versions_are_read(tmp_path: Path) -> None:
    for version in ((1, 0), (2, 0), (3, 0)):
        content = io.BytesIO()
        np.lib.format.write_array(content, np.ones((2, 3), np.int16), version)
        packed(tmp_path / "x.npz", "x.npy", content.getvalue())
        npz_header = npz_headers(tmp_path / "x.npz")["x"]
        assert (npz_header.shape, npz_header.dtype) == ((2, 3), np.dtype(np.int16))


def test_labels_are_counted_without_the_images(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("images.npy", "w", force_zip64=True) as member:
            member.write(header("(4, 3, 4096, 4096)"))
        labels = io.BytesIO()
        np.save(labels, np.zeros(4096, np.int64))
        archive.writestr("labels.npy", labels.getvalue())
    reject_unusable(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "scalar.npz", images=np.zeros((4, 3)), labels=np.int64(1))
    with pytest.raises(PlanError):
        reject_unusable(str(tmp_path / "scalar.npz"))
