"""Reading marks: bars, boxes, tiles and points, each with the case behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtGui import QColor

from app.gui.plots.read.brush import Brush
from app.gui.plots.read.reading import Line, Place, Reading

_REACH_PX = 24.0
"""So near to a mark one means it."""
_ASIDE = 4.0
"""A mark that lies aside counts as so many times farther than one straight ahead."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A mark at `x` and `y`, or one that reaches so far to each side of them.

    `keys` are the cases behind it, `opens` the samples.
    """

    x: float
    y: float
    title: str
    lines: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    color: QColor | None = None
    reach: tuple[float, float] = (0.0, 0.0)
    opens: Brush | None = None


ROW = (math.inf, 0.5)
"""The reach of a mark that has its row of a view of rows for itself."""
CELL = (0.5, 0.5)


class SpotReader:
    """The mark that the pointer is on, else the nearest that is near enough.

    `by_row`: anywhere in a row the nearest mark of that row is meant.
    """

    def __init__(self, spots: Sequence[Spot], *, by_row: bool = False) -> None:
        self._spots, self._by_row = tuple(spots), by_row

    def at(self, place: Place) -> Reading | None:
        spots = self._spots
        if self._by_row:
            spots = tuple(spot for spot in spots if abs(spot.y - place.y) <= spot.reach[1])
        known = [(_gap_px(spot, place), place.distance_px(spot.x, spot.y)) for spot in spots]
        if not known:
            return None
        nearest = min(range(len(known)), key=known.__getitem__)
        near = self._by_row or known[nearest][0] <= _REACH_PX
        return _read(spots[nearest]) if near else None

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        ahead = [
            (forward + _ASIDE * aside, spot)
            for spot in self._spots
            for forward, aside in [_way_px(spot, place, right, up)]
            if forward > 0.5
        ]
        if not ahead:
            return None
        _, spot = min(ahead, key=lambda found: found[0])
        return spot.x, spot.y


def _read(spot: Spot) -> Reading:
    lines = tuple(Line(text, spot.color) for text in spot.lines)
    x = None if math.isinf(spot.reach[0]) else spot.x
    return Reading(spot.title, lines, x, spot.y, spot.keys, spot.opens)


def _gap_px(spot: Spot, place: Place) -> float:
    """How far it is from a mark's edge, 0 within."""
    dx = max(0.0, abs(place.x - spot.x) - spot.reach[0]) / place.pixel[0]
    dy = max(0.0, abs(place.y - spot.y) - spot.reach[1]) / abs(place.pixel[1])
    return math.hypot(dx, dy)


def _way_px(spot: Spot, place: Place, right: int, up: int) -> tuple[float, float]:
    """How far a mark lies ahead, and how far aside of that."""
    dx, dy = (spot.x - place.x) / place.pixel[0], (spot.y - place.y) / place.pixel[1]
    return (dx * right, abs(dy)) if right else (dy * up, abs(dx))
