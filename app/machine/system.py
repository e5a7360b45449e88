"""Which operating systems this runs on: told in one sentence before anything else is imported.

Run folders and the cache are locked by `fcntl`, and children are ended by POSIX signals.
"""

from __future__ import annotations

import sys
from pathlib import Path

from app.cases.errors import PlanError

_SYSTEMS = ("linux", "darwin")
_PROC = Path("/proc/self/stat")


def refuse_other_systems() -> None:
    """PlanError on a system that is neither Linux nor macOS."""
    if sys.platform not in _SYSTEMS:
        raise PlanError(
            f"Graphlap runs on Linux and macOS, and this system is {sys.platform!r}",
            "on Windows, install WSL (wsl --install) and run it in there",
        )


def refuse_without_proc() -> None:
    """PlanError on a Linux whose /proc is not mounted, as in some containers: memory, processes and
    what else runs are read from it."""
    if sys.platform == "linux" and not _PROC.exists():
        raise PlanError(
            "/proc is not mounted, and this machine can't be looked at without it",
            "mount it: mount -t proc proc /proc",
        )
