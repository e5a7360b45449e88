"""The cores that this process may run on; asked by the parent, by children and by the window."""

from __future__ import annotations

import os


def usable_cores() -> set[int]:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))
