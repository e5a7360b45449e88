"""Files that are replaced whole: a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from app.cases.errors import ResultsError

_DRAFT = re.compile(r"\..+\.\d+")


def write_atomically(path: Path, data: bytes, durable: bool = True) -> None:
    """Write beside `path` and move into place; OSError leaves the old file as it was."""
    with replacing(path, durable) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, durable: bool = True) -> Iterator[BinaryIO]:
    """A new file for writing, which takes the place of `path` when the block ends well.

    A link at `path` is replaced, never followed. Any exception leaves what was there, and nothing
    of the new file.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # of a process that was killed, or a link in its place
    try:
        with cast(BinaryIO, draft.open("xb")) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def own_subfolder(folder: Path, name: str) -> Path:
    """The folder `name` in `folder`, made if it is not there; ResultsError for a link or a file."""
    path = folder / name
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        what = "a link" if path.is_symlink() else "a file"
        raise ResultsError(
            f"{path} is {what}, not a folder of the run", "remove it, then try again"
        )
    path.mkdir(exist_ok=True)
    return path


def remove_drafts(folder: Path) -> None:
    """Remove what a writer of the folder left behind that was killed while it wrote; there must be
    none now."""
    for path in folder.iterdir():
        if _DRAFT.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)
