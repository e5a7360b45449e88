"""Files of a run folder, opened: what is no file is told at once, whoever made the folder.

A pipe in the place of one would keep a reader waiting for ever, and a device has no end.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any


def open_file(path: Path) -> BufferedReader:
    """For reading, from its beginning; OSError, also for a pipe, a device or a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no file", str(path))


def read_file(path: Path, offset: int = 0) -> bytes:
    """All of it from byte `offset` on; OSError, also for more than memory holds."""
    with open_file(path) as file:
        file.seek(offset)
        try:
            return file.read()
        except MemoryError:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path)) from None


def read_json(path: Path) -> Any:
    """The value in it; OSError, ValueError also for one that is nested deeper than any of ours."""
    return json_of(read_file(path))


def json_of(text: bytes) -> Any:
    """The value of a file's text; ValueError likewise."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def lies_within(folder: Path, path: Path) -> bool:
    """Whether a file is there and in the folder: a link that leads out of it is none of its own."""
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())
