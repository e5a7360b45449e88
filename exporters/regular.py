"""Regular files, opened for reading: a pipe, a device or a folder is refused at once.

A pipe in the place of a file would keep a reader waiting for ever, and a device has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_file(path: Path) -> BufferedReader:
    """For reading, from its beginning; OSError, also for a pipe, a device or a folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError as error:  # a NUL character
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no file", str(path))


def read_file(path: Path, offset: int = 0, most_bytes: int | None = None) -> bytes:
    """All of it from byte `offset` on; OSError, also for more than memory or `most_bytes` hold."""
    with open_file(path) as file:
        if most_bytes is not None and os.fstat(file.fileno()).st_size > most_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {most_bytes:,} bytes", str(path))
        if offset:
            file.seek(offset)
        try:
            return file.read() if most_bytes is None else file.read(most_bytes)
        except MemoryError:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path)) from None


def user_path(text: str) -> Path:
    """The path with the user's home folder for `~`; one of an unknown user stays as it is."""
    return Path(os.path.expanduser(text))  # noqa: PTH111
