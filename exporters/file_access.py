"""Access to files: regular ones opened within bounds, private folders, digests of content, TOML.

A pipe, a device or a folder is refused at once. Runs hold users' inputs and the cache their
networks, so that their folders are private.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np


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


def try_lock(descriptor: int, shared: bool = False) -> bool:
    """Whether the lock of a file could be had at once; OSError where the file system has none."""
    import fcntl  # not on Windows, which is told that before this is called

    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


OWNER_ALONE = 0o700


def private_folder(path: Path) -> None:
    """Make it for its owner alone, and what is above it as usual; OSError.

    One that is there stays as it is: whoever made it has decided who may look.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=OWNER_ALONE, exist_ok=True)


_PIECE_BYTES = 16 << 20


def copy_file(source: Path, copy: Path) -> None:
    """A copy of a file's content that keeps its holes, and shares its blocks where the file system
    can; OSError.

    A hard link would be free, but a program that rewrites the source in place would change it.
    """
    with open_file(source) as read, copy.open("wb") as write:
        from_file, to_file = read.fileno(), write.fileno()
        size = os.fstat(from_file).st_size
        os.ftruncate(to_file, size)
        end = 0
        while end < size:
            try:
                start = os.lseek(from_file, end, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole follows
                    break
                raise
            end = os.lseek(from_file, start, os.SEEK_HOLE)
            _copy_bytes(from_file, to_file, start, end)


def _copy_bytes(from_file: int, to_file: int, start: int, end: int) -> None:
    """The bytes of a range, by the kernel where it can."""
    copy_range = getattr(os, "copy_file_range", None)
    while copy_range is not None and start < end:
        try:
            count = copy_range(from_file, to_file, end - start, start, start)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
                raise
            break
        if not count:  # some file systems copy nothing and report no error
            break
        start += count
    while start < end:
        piece = os.pread(from_file, min(_PIECE_BYTES, end - start), start)
        if not piece:
            raise OSError(errno.EIO, "it became shorter while it was read")
        os.pwrite(to_file, piece, start)
        start += len(piece)


def file_sha256(path: Path) -> str:
    """The sha256 of a file's content in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def arrays_sha256(arrays: Mapping[str, np.ndarray]) -> str:
    """One sha256 in hex for all the arrays, with their names, types and shapes."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str}{array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


MOST_BYTES = 8 << 20
_MOST_PARTS = 32
"""Of a dotted key. Python's reader needs memory and time with the square of their number."""

_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")


def read_toml(path: Path) -> dict[str, Any]:
    """The values in the file; OSError, or ValueError with a clause that says what is wrong."""
    try:
        return toml_values(read_file(path, most_bytes=MOST_BYTES).decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8 text") from None


def toml_values(text: str) -> dict[str, Any]:
    """The values in a text; ValueError likewise."""
    if _LONG_KEY.search(_TEXT.sub("text", text)):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no valid TOML: {error}") from None
    except ValueError:  # from `int`, which reads no more digits than it can in good time
        raise ValueError("it has a number with too many digits") from None
