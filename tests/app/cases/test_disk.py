"""What a disk refuses is one sentence with what helps: the refusals are real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import is_no_room, unwritable
from app.run_folder.files import write_atomically
from tests.limits import file_size_limit


def _capture_error(path: Path) -> str:
    try:
        write_atomically(path, b"more than nothing")
    except OSError as error:
        return str(unwritable(path.parent, error, ", then --resume it"))
    raise AssertionError("it was written")


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    assert _capture_error(tmp_path / "results.csv") == (
        f"{tmp_path}/results.csv can't be written (Is a directory): "
        "move the folder of that name away, then --resume it"
    )


def test_a_limit_on_a_files_size_is_not_a_full_disk(tmp_path: Path) -> None:
    with file_size_limit(4):
        message = _capture_error(tmp_path / "results.csv")
    assert message.endswith("raise the limit on a file's size (ulimit -f), then --resume it")
    assert not is_no_room(message)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_wants_space() -> None:
    with pytest.raises(OSError) as caught, Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")
    message = str(unwritable("run", caught.value))
    assert message == "run can't be written (No space left on device): free space"
    assert is_no_room(message)
