"""pytest on all cores at once, for tests that measure nothing."""

from __future__ import annotations

import os

MOST = 8
"""More workers than this gain little: each has its own export process, with torch in it."""
MORE_THAN_CORES = 1
"""A fifth of the time of two workers on two cores they wait for processes that wait themselves."""


def on_all_cores() -> tuple[str, ...]:
    """The options; a worker keeps neighbouring tests, and takes others' when it has none left."""
    cores = len(os.sched_getaffinity(0))
    return ("-n", str(min(cores + MORE_THAN_CORES, MOST)), "--dist", "worksteal")
