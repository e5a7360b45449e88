"""Turns of the processes of one set: what they and their parent tell each other, and in which order
they come."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

READY, LEFT = "ready", "left"
"""Events of a round in turns: it is warm and waits for the others of its set, with its `pid` and
the length of its turns, `turn_s`; it has had its last turn."""
TURN_SET, TURN_EVERY = "turn_set", "turn_every"
"""Facts of a round: the set whose processes took turns with it, and, where it had one only in every
so many cycles, in how many."""
MOST_EVERY = 16
_LONG = 2.0
"""A turn so many times as long as the shortest of its set comes less often."""
STATE = "state"
"""The file of a set that all map, of bytes: whether the turns are over, which seat has its turn,
and for each seat whether it has measured enough. Beside it each seat has a named pipe, its number,
in which the token arrives that lets it run."""
OVER, HOLDER, FIRST_SEAT = 0, 1, 2
"""Places in that file."""


@dataclass(frozen=True, slots=True)
class TurnSeat:
    """A place in a set: the set's name, the folder of its files, and the number of the place."""

    set_name: str
    folder: str
    number: int


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What every process of a set is told once all are ready: the numbers of those that are there,
    their process ids, and in every how many cycles each has a turn. `halted` have threads that may
    run without a turn, and are stopped."""

    seats: tuple[int, ...]
    pids: tuple[int, ...]
    every: tuple[int, ...]
    halted: tuple[int, ...] = ()

    def order(self, set_name: str, cycle: int) -> list[int]:
        """Who has turns in a cycle, in an order that is drawn anew for each."""
        order = [seat for seat, n in zip(self.seats, self.every, strict=True) if cycle % n == 0]
        random.Random(f"{set_name}:{cycle}").shuffle(order)
        return order


def every_of(turns_s: Sequence[float]) -> tuple[int, ...]:
    """In every how many cycles those have a turn whose turns are so long, powers of two: a long one
    less often, so that the others meet the same states of the machine."""
    longest_s = _LONG * min(turns_s)
    return tuple(
        min(MOST_EVERY, 2 ** int(math.log2(max(1.0, turn_s / longest_s)))) for turn_s in turns_s
    )
