"""Files that a user names, read whole: bounded in size, and never waited for without an end.

A folder, a device or a pipe that nobody writes to may stand where a file is expected.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

PATIENCE_S = 10.0
"""How long the writer of a pipe may be silent."""
_BLOCK_BYTES = 1 << 20


def read_user_file(path: Path, most_bytes: int) -> bytes:
    """The content of a file or a pipe; OSError for anything else, for more than `most_bytes`, and
    for a pipe whose writer is silent for `PATIENCE_S`."""
    descriptor = _opened(path)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        content = bytearray()
        while block := _block(descriptor, path):
            content += block
            if len(content) > most_bytes:
                limit = f"it is larger than {most_bytes >> 20} MiB"
                raise OSError(errno.EFBIG, limit, str(path))
        return bytes(content)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise OSError(errno.EINVAL, "its name has a NUL", str(path)) from None


def _block(descriptor: int, path: Path) -> bytes:
    if not select.select([descriptor], [], [], PATIENCE_S)[0]:
        raise OSError(errno.ETIMEDOUT, f"nothing came within {PATIENCE_S:g} s", str(path))
    return os.read(descriptor, _BLOCK_BYTES)
