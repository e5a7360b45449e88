"""Which operating systems this runs on: told in one sentence before anything else is imported; and
what their files say.

Run folders and the cache are locked by `fcntl`, and children are ended by POSIX signals.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from app.cases.errors import PlanError
from exporters.install_layout import module_name

_SYSTEMS = ("linux", "darwin")
_PROC = Path("/proc/self/stat")
_PROGRAMS = (module_name("app.__main__"), "graphlap.__main__", "graphlap")
"""What this program is to Python when it is started as a module or as a command."""


def text_of(path: Path) -> str | None:
    """What a file of the system says; None where it can't be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


def refuse_other_systems() -> None:
    """PlanError on a system that is neither Linux nor macOS."""
    if sys.platform not in _SYSTEMS:
        raise PlanError(
            f"Graphlap runs on Linux and macOS, and this system is {sys.platform!r}",
            "on Windows, install WSL (wsl --install) and run it in there",
        )


def program_begun_s() -> float:
    """When this program was started, on the scale of `time.monotonic`; now where that is not known,
    or where another program has called us.

    /proc has it in ticks since the machine booted.
    """
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    started_as = spec.name if spec is not None else Path(sys.argv[0]).name
    if started_as not in _PROGRAMS:
        return time.monotonic()
    try:
        ticks = int(_PROC.read_text().rpartition(")")[2].split()[19])
        since_boot_s = ticks / os.sysconf("SC_CLK_TCK")
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot_s
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic()
    return time.monotonic() - max(0.0, age_s)


def refuse_without_proc() -> None:
    """PlanError on a Linux whose /proc is not mounted, as in some containers: memory, processes and
    what else runs are read from it."""
    if sys.platform == "linux" and not _PROC.exists():
        raise PlanError(
            "/proc is not mounted, and this machine can't be looked at without it",
            "mount it: mount -t proc proc /proc",
        )
