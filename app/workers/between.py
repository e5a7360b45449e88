"""What is done between two runs of a lane, outside the clock: caches polluted, states fed back,
other inputs fed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle

from app.workers.pollution import copy_all
from runtimes.base import Arrays, Lane
from runtimes.calls.call import Copy


def between_runs(
    lane: Lane, streaming: bool, sets: Sequence[Arrays], polluting: Sequence[Copy] = ()
) -> Callable[[], object] | None:
    """The call that prepares the next run; None where nothing is to be done.

    `sets` are inputs to feed in turn, without the states; the first is what is bound already.
    `polluting` are copied before anything is fed, so that what is fed is as fresh as a program's.
    """
    if not sets and not polluting:
        return lane.advance if streaming else None
    following = cycle((*sets[1:], *sets[:1]))

    def prepare() -> None:
        copy_all(polluting)
        if streaming:
            lane.advance()
        if sets:
            lane.feed(next(following))

    return prepare
