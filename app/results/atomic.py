"""Files that are replaced whole: a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_DRAFT = re.compile(r"\..+\.\d+")


def write_atomically(path: Path, data: bytes, durable: bool = True) -> None:
    """Write beside `path` and move into place; OSError leaves the old file as it was."""
    with replacing(path, durable) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, durable: bool = True) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` at the end; an error leaves the old one as it was."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def remove_drafts(folder: Path) -> None:
    """Remove what a writer of the folder left behind that was killed while it wrote; there must be
    none now."""
    for path in folder.iterdir():
        if _DRAFT.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)
