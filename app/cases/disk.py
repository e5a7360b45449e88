"""What a disk refused, in one sentence with what helps against it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from app.cases.errors import DiskError

_REMEDIES = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space, or ask for a larger quota",
    errno.EFBIG: "raise the limit on a file's size (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EISDIR: "move the folder of that name away",
    errno.ENOTEMPTY: "move the folder of that name away",
    errno.ENOENT: "put its folder back",
    errno.ENOTDIR: "put its folder back",
    errno.EACCES: "give yourself leave to write there",
    errno.EPERM: "give yourself leave to write there",
    errno.EROFS: "mount its disk for writing",
}
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def current_folder() -> Path | None:
    """That of the process; None if it has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def unwritable(path: Path | str, error: OSError, then: str = "", more: str = "") -> DiskError:
    """The sentence on a path that can't be written; `then` ends its remedy.

    Where moving a finished file into place failed, it names that file and not its folder.
    """
    named = error.filename2 or path
    why = error.strerror or str(error)
    return DiskError(f"{named} can't be written{more} ({why})", disk_remedy(why) + then)


def disk_remedy(said: str) -> str:
    """What helps against a refusal that is told with the system's own words for it."""
    known = (remedy for code, remedy in _REMEDIES.items() if os.strerror(code) in said)
    return next(known, "look after its disk")


def is_no_room(said: str) -> bool:
    """Whether the system's words in it say that a disk is full."""
    return any(os.strerror(code) in said for code in _NO_ROOM)
