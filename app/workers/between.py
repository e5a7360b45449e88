"""What is done between two runs of a lane, outside the clock: states fed back, other inputs fed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle

from runtimes.base import Arrays, Lane


def between_runs(
    lane: Lane, streaming: bool, sets: Sequence[Arrays]
) -> Callable[[], object] | None:
    """The call that prepares the next run; None where nothing is to be done.

    `sets` are inputs to feed in turn, without the states; the first is what is bound already.
    """
    if not sets:
        return lane.advance if streaming else None
    following = cycle((*sets[1:], sets[0]))

    def prepare() -> None:
        if streaming:
            lane.advance()
        lane.feed(next(following))

    return prepare
