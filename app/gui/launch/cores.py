"""Which cores the window keeps to, so that it does not disturb what it shows.

Single-threaded cases are measured on the last core; the window leaves it alone, and hands
all cores on to the batch process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from app.machine.cores import usable_cores

_ALL = frozenset(usable_cores())


def leave_last_core() -> None:
    """Keep the calling thread, and the threads it starts from now on, off the last core."""
    if hasattr(os, "sched_setaffinity") and len(_ALL) > 1:
        os.sched_setaffinity(0, _ALL - {max(_ALL)})


@contextlib.contextmanager
def all_cores() -> Iterator[None]:
    """A process that is started inside may use every core that the window was given."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _ALL)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
