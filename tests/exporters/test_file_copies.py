"""Copies of large files: equal content, holes kept, independent of later changes to the source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporters import file_access
from exporters.file_access import copy_file

HOLE_BYTES = 3 << 30


def write_sparse(path: Path) -> None:
    """Data, a hole beyond 2 GiB, data, and a hole at the end."""
    with path.open("wb") as file:
        file.write(b"head" * 1000)
        file.seek(HOLE_BYTES)
        file.write(b"tail" * 1000)
        file.truncate(2 * HOLE_BYTES)


@pytest.mark.parametrize("by_kernel", [True, False])
def test_a_copy_keeps_holes_and_is_independent_of_its_source(
    by_kernel: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_kernel:
        monkeypatch.delattr(os, "copy_file_range")
    source, copy = tmp_path / "source.bin", tmp_path / "copy.bin"
    write_sparse(source)
    copy_file(source, copy)
    assert copy.stat().st_size == 2 * HOLE_BYTES
    assert copy.stat().st_blocks * 512 < 1 << 20
    with source.open("r+b") as file:
        file.write(b"changed")
    with copy.open("rb") as file:
        assert file.read(4004) == b"head" * 1000 + bytes(4)
        file.seek(HOLE_BYTES)
        assert file.read(4004) == b"tail" * 1000 + bytes(4)


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)) * 1000])
def test_a_copy_has_the_content_of_an_ordinary_file(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, copy = tmp_path / "source.bin", tmp_path / "copy.bin"
    source.write_bytes(content)
    copy_file(source, copy)
    assert copy.read_bytes() == content
    monkeypatch.setattr(file_access, "_PIECE_BYTES", 1000)
    monkeypatch.delattr(os, "copy_file_range")
    copy_file(source, copy)
    assert copy.read_bytes() == content


def test_what_is_no_file_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        copy_file(tmp_path, tmp_path / "copy.bin")
