"""Errors that a user can act on: of a plan, a run folder or a disk, with the nearest known word."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from exporters.types import GraphlapError


class PlanError(GraphlapError):
    """The plan alone shows the fault: exit 2, nothing written."""


class ResultsError(GraphlapError):
    """A run folder that can't be read or used: exit 2 when a sweep was to write there."""


class FileError(ResultsError):
    """A file of a run folder that can't be used: its path, and what is wrong with it."""

    def __init__(self, path: Path, fault: str, remedy: str = "") -> None:
        super().__init__(f"{path} {fault}", remedy)
        self.fault = fault


class DiskError(ResultsError):
    """The run folder can no longer be written: exit 1, and what is recorded stays good."""


def suggestion(word: str, choices: Iterable[str], fallback: str = "") -> str:
    """`did you mean 'x'?` for a near miss or the first part of a name, else `fallback`, or the
    first dozen known words."""
    words = list(choices)
    matches = [choice for choice in words if word and choice.startswith(f"{word}-")]
    matches += get_close_matches(word, words, cutoff=0.6)
    if matches:
        return f"did you mean {matches[0]!r}?"
    if fallback:
        return fallback
    word_list = ", ".join(words[:12])
    rest = f" and {len(words) - 12} more" if len(words) > 12 else ""
    return f"use one of {word_list}{rest}"


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


def unwritable(path: Path | str, error: OSError, advice: str = "", detail: str = "") -> DiskError:
    """The sentence on a path that can't be written; `advice` ends its remedy.

    Where moving a finished file into place failed, it names that file and not its folder.
    """
    file = error.filename2 or path
    reason = error.strerror or str(error)
    return DiskError(f"{file} can't be written{detail} ({reason})", disk_remedy(reason) + advice)


def disk_remedy(message: str) -> str:
    """What helps against a refusal that is told with the system's own words for it."""
    remedies = (remedy for code, remedy in _REMEDIES.items() if os.strerror(code) in message)
    return next(remedies, "look after its disk")


def is_no_room(message: str) -> bool:
    """Whether the system's words in it say that a disk is full."""
    return any(os.strerror(code) in message for code in _NO_ROOM)
