"""Files are forgotten by the system, and it is seen whether they were."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import pytest

from app.capabilities.cold_start.worker import drop, mapped_files

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="Linux alone tells what is in its page cache"
)
SIZE = 64 * mmap.PAGESIZE


def test_a_file_that_another_process_holds_is_told_to_have_stayed(tmp_path: Path) -> None:
    """Called dropped, a warm start would pass for a cold one."""
    held_file, free = tmp_path / "held", tmp_path / "free"
    for path in (held_file, free):
        path.write_bytes(os.urandom(SIZE))
    assert drop([str(free)]) == 0.0
    child_ready, parent_ready = os.pipe()
    done_here, done_there = os.pipe()
    child = os.fork()
    if not child:
        with (
            held_file.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view,
        ):
            sum(view[:: mmap.PAGESIZE])
            os.write(parent_ready, b".")
            os.read(done_here, 1)
        os._exit(0)
    os.read(child_ready, 1)
    try:
        assert drop([str(held_file)]) > 0.9
        assert 0.4 < drop([str(held_file), str(free)]) < 0.6
    finally:
        os.write(done_there, b".")
        os.waitpid(child, 0)
    assert drop([str(held_file)]) == 0.0


def test_what_was_just_written_is_forgotten_too(tmp_path: Path) -> None:
    """An exported graph may not be on the disk yet when its first process starts."""
    path = tmp_path / "new"
    path.write_bytes(b"x" * SIZE)
    assert drop([str(path), str(tmp_path / "absent")]) == 0.0


def test_nothing_is_dropped_that_this_process_has_mapped() -> None:
    assert drop(mapped_files()) == 0.0
