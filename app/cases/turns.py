"""Turns of the processes of one set: what they and their parent tell each other, and in which order
they come."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

READY, LEFT = "ready", "left"
"""Events of a round in turns: it is warm and waits for the others of its set, with its `pid`; it
has had its last turn."""
TURN_SET = "turn_set"
"""The fact of a round that names the set whose processes took turns with it."""
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
    and their process ids. `halted` have threads that may run without a turn, and are stopped."""

    seats: tuple[int, ...]
    pids: tuple[int, ...]
    halted: tuple[int, ...] = ()


def order_of(set_name: str, seats: Sequence[int], cycle: int) -> list[int]:
    """The seats in the order in which they have their turns in a cycle, drawn anew for each."""
    order = sorted(seats)
    random.Random(f"{set_name}:{cycle}").shuffle(order)
    return order
