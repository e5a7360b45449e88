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
TURN_SET, TURN_EVERY, PLACES = "turn_set", "turn_every", "memory_places"
"""Facts of a round: the set and the group whose processes took turns with it, where it had one only
in every so many cycles in how many, and how many places its memory had."""
TURN_S, RUNS = 0.005, 4
"""A turn lasts so long or so many runs, whichever is longer."""
LONG_TURN_S, LONG_RUNS = 0.050, 24
"""It lasts so many runs, but no longer than so, where that is more: what takes a good part of a
millisecond goes through more memory than a core's own caches hold, and who comes back has its part
of the last level again after some 10 ms only."""
CYCLES = 60
"""So many turns give a set's ratio, unless they take too long."""
MOST_EVERY = 16
_LONG = 2.0
"""A turn so many times as long as the shortest of its group comes less often."""
MOST_SEATS = 16
"""Of one set."""
STATE = "state"
"""The file of a set that all map: whether the turns are over, which seat has its turn, for each
seat whether it has measured enough, and for each group how many seconds it has had. Beside it each
seat has a named pipe, its number, in which the token arrives that lets it run."""
OVER, HOLDER, FIRST_SEAT, FIRST_GROUP = 0, 1, 2, 64
"""Places in that file: bytes, but for doubles from `FIRST_GROUP` on."""
STATE_BYTES = FIRST_GROUP + 8 * MOST_SEATS
LAP_BYTES = 4
"""A token is the number of the lap, and then the seats that have turns after this one in it."""


def token(lap: int, following: Sequence[int]) -> bytes:
    return lap.to_bytes(LAP_BYTES) + bytes(following)


@dataclass(frozen=True, slots=True)
class TurnSeat:
    """A place in a set: the set's name, the folder of its files, the number of the place, and that
    of its group, whose cases are compared with each other."""

    set_name: str
    folder: str
    number: int
    group: int


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What every process of a set is told once all are ready: the numbers of those that are there,
    their process ids and their groups, in every how many laps of the set its group has a cycle, and
    in every how many cycles of it each has a turn. `halted` have threads that may run without a
    turn, and are stopped."""

    seats: tuple[int, ...]
    pids: tuple[int, ...]
    groups: tuple[int, ...]
    laps: tuple[int, ...]
    every: tuple[int, ...]
    halted: tuple[int, ...] = ()

    def order(self, set_name: str, lap: int) -> list[int]:
        """Who has turns in a lap, group by group, in an order that is drawn anew for each."""
        draw = random.Random(f"{set_name}:{lap}")
        places = list(zip(self.groups, self.seats, self.laps, self.every, strict=True))
        groups = sorted(set(self.groups))
        order = []
        for group in draw.sample(groups, len(groups)):
            due = [seat for own, seat, laps, n in places if own == group and lap % (laps * n) == 0]
            order += draw.sample(due, len(due))
        return order


def every_of(turns_s: Sequence[float]) -> tuple[int, ...]:
    """In every how many cycles those have a turn whose turns are so long, powers of two: a long one
    less often, so that the others meet the same states of the machine."""
    longest_s = _LONG * min(turns_s)
    return tuple(min(MOST_EVERY, floor_power(turn_s / longest_s)) for turn_s in turns_s)


def floor_power(number: float) -> int:
    """The largest power of two that is no larger, 1 at least."""
    return 2 ** int(math.log2(max(1.0, number)))
