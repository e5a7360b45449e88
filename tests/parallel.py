"""pytest on all cores at once, for tests that measure nothing."""

from __future__ import annotations

import os

MOST = 8
"""More workers than this gain little: each has its own export process, with torch in it."""
MORE_THAN_CORES = 2
"""Of three workers on two cores a fifth of the cores' time was idle: they wait for processes that
wait themselves."""


def on_all_cores() -> tuple[str, ...]:
    """The options; a worker keeps neighbouring tests, and takes others' when it has none left."""
    cores = len(os.sched_getaffinity(0))
    return ("-n", str(min(cores + MORE_THAN_CORES, MOST)), "--dist", "worksteal")
