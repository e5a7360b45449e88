"""pytest on all cores at once, for tests that measure nothing, and what their processes share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST = 8
"""More workers than this gain little: each has its own export process, with torch in it."""
MORE_THAN_CORES = 2
"""Of three workers on two cores a fifth of the cores' time was idle: they wait for processes that
wait themselves."""


def on_all_cores() -> tuple[str, ...]:
    """The options; a worker keeps neighbouring tests, and takes others' when it has none left."""
    cores = len(os.sched_getaffinity(0))
    return ("-n", str(min(cores + MORE_THAN_CORES, MOST)), "--dist", "worksteal")


@contextmanager
def once(folder: Path) -> Iterator[bool]:
    """Whether the folder is to be filled: by one of the processes that run tests, for all."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        yield is_new
