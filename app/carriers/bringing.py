"""A file on its way to a host, block after block, and what of it can't be read on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from app.carriers.contract import BLOCK_BYTES, CarrierError, HostFile


class Unreadable(CarrierError):
    """A file that a job needs is gone from this machine, or is another: no host can have it."""


def blocks(file: HostFile) -> Iterator[tuple[int, bytes]]:
    """Offset and data of each in order, one for an empty file; Unreadable, at the latest before the
    block that would have made it whole."""
    offset, digest = 0, hashlib.sha256()
    try:
        with file.path.open("rb") as content:
            while not offset or offset < file.size_bytes:
                data = content.read(BLOCK_BYTES)
                digest.update(data)
                left = file.size_bytes - offset - len(data)
                if left < 0 or (left and not data) or (not left and _other(digest, file)):
                    raise _unreadable(file.path, "it has changed")
                yield offset, data
                offset += len(data)
                if not left:
                    return
    except OSError as error:
        raise unreadable(error, file.path) from error


def unreadable(error: OSError, path: Path | None = None) -> Unreadable:
    """Of the file that the error names, or of this one."""
    return _unreadable(path or error.filename, error.strerror or str(error))


def _unreadable(path: Path | str, why: str) -> Unreadable:
    return Unreadable(
        f"{path} can't be read any more ({why})", "resume the run, which exports it again"
    )


def _other(digest: hashlib._Hash, file: HostFile) -> bool:
    return digest.hexdigest() != file.sha256
