"""Which cores the window keeps to, so that it does not disturb what it shows.

Single-threaded cases are measured on the last core; the window leaves it alone, and hands
all cores on to the batch process.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from app.machine.placement import keep_to, on_cores, usable_cores

_ALL = frozenset(usable_cores())


def leave_last_core() -> None:
    """Keep the calling thread, and the threads it starts from now on, off the last core."""
    if len(_ALL) > 1:
        keep_to(_ALL - {max(_ALL)})


def all_cores() -> AbstractContextManager[None]:
    """A process that is started inside may use every core that the window was given."""
    return on_cores(_ALL)
