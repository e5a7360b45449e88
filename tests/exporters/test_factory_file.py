"""A user's factory file runs as his own script does, for who exports it and for who runs it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.machine import installed_runtimes
from app.run_folder.folder import RunFolder
from exporters.cache import Store
from exporters.file_access import copy_file
from exporters.model_names import is_factory_file, locate, run_file
from exporters.types import ExportError
from tests.app.run_folder.runs import manifest_of


def test_a_file_imports_what_lies_beside_it_and_leaves_the_path_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("NUMBER = 5\n")
    file = tmp_path / "numpy.py"
    file.write_text("from beside_it import NUMBER\n")
    path_before = list(sys.path)
    assert run_file(file).NUMBER == 5
    assert sys.modules["numpy"] is np, "a file called as a package does not hide it"
    file.write_text("raise ValueError('of a user')\n")
    with pytest.raises(ValueError, match="of a user"):
        run_file(file)
    assert sys.path == path_before


def test_looking_a_factory_up_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise ValueError\ndef build():\n    pass\n")
    location = locate(f"{file}:build")
    assert (location.path, location.function) == (file, "build")
    with pytest.raises(ExportError, match="did you mean 'build'"):
        locate(f"{file}:biuld")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("net.py:build", True), ("~/a b/net.py:build", True), ("net.onnx", False), ("mlp", False)],
)
def test_a_factory_file_is_told_by_its_form(name: str, is_one: bool) -> None:
    assert is_factory_file(name) == is_one


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


def test_what_is_no_file_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        copy_file(tmp_path, tmp_path / "copy.bin")


@pytest.fixture
def usual_umask() -> Iterator[None]:
    umask_before = os.umask(0o022)
    yield
    os.umask(umask_before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_run_folders_and_the_cache_are_their_owners_alone_unless_made_to_be_shared(
    usual_umask: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunFolder.create(tmp_path / "runs" / "one", manifest_of()):
        assert mode_of(tmp_path / "runs" / "one") == 0o700
    assert mode_of(tmp_path / "runs") == 0o755, "what is above it is none of ours"
    shared_folder = tmp_path / "shared"
    shared_folder.mkdir(mode=0o750)
    with RunFolder.create(shared_folder, manifest_of()):
        assert mode_of(shared_folder) == 0o750
    Store(tmp_path / "one")
    assert mode_of(tmp_path / "one") == 0o700
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "two"))
    installed_runtimes.refuse_unwritable()
    assert mode_of(tmp_path / "two") == 0o700
