"""A file on its way to a host, block after block, and what of it can't be read on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

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
                    raise _unreadable(file, "it has changed")
                yield offset, data
                offset += len(data)
                if not left:
                    return
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error


def unreadable(path: str, why: str) -> str:
    """What a row says of it."""
    return f"{path} can't be read any more ({why}): --resume the run, which exports it again"


def _unreadable(file: HostFile, why: str) -> Unreadable:
    cause, _, remedy = unreadable(str(file.path), why).partition(": ")
    return Unreadable(cause, remedy)


def _other(digest: hashlib._Hash, file: HostFile) -> bool:
    return digest.hexdigest() != file.sha256
