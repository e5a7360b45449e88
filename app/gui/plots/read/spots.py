"""Reading marks: bars, boxes, tiles and points, each with the case behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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

    `by_row`: anywhere in a row the nearest mark of that row is meant. So many of the marks are
    `of_cases`.
    """

    def __init__(self, spots: Sequence[Spot], *, by_row: bool = False) -> None:
        self._spots, self._by_row = tuple(spots), by_row
        self.of_cases = sum(bool(spot.keys) for spot in spots)
        self._x = np.array([spot.x for spot in spots], float)
        self._y = np.array([spot.y for spot in spots], float)
        self._wide = np.array([spot.reach[0] for spot in spots], float)
        self._high = np.array([spot.reach[1] for spot in spots], float)

    def of(self, keys: frozenset[str]) -> list[Spot]:
        """The marks of these cases."""
        return [spot for spot in self._spots if not keys.isdisjoint(spot.keys)]

    def at(self, place: Place) -> Reading | None:
        if not self._spots:
            return None
        across, up = (self._x - place.x) / place.pixel[0], (self._y - place.y) / place.pixel[1]
        # How far it is from a mark's edge, 0 within.
        beside = np.maximum(0.0, np.abs(across) - self._wide / place.pixel[0])
        above = np.maximum(0.0, np.abs(up) - self._high / abs(place.pixel[1]))
        gap = np.hypot(beside, above)
        if self._by_row:
            gap[above > 0.0] = np.inf
        nearest = int(np.lexsort((np.hypot(across, up), gap))[0])
        near = np.isfinite(gap[nearest]) if self._by_row else gap[nearest] <= _REACH_PX
        return _read(self._spots[nearest]) if near else None

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        across, high = (self._x - place.x) / place.pixel[0], (self._y - place.y) / place.pixel[1]
        forward, aside = (across * right, high) if right else (high * up, across)
        away = np.where(forward > 0.5, forward + _ASIDE * np.abs(aside), np.inf)
        if not len(away) or not np.isfinite(away.min()):
            return None
        nearest = int(np.argmin(away))
        return float(self._x[nearest]), float(self._y[nearest])


def _read(spot: Spot) -> Reading:
    lines = tuple(Line(text, spot.color) for text in spot.lines)
    x = None if math.isinf(spot.reach[0]) else spot.x
    return Reading(spot.title, lines, x, spot.y, spot.keys, spot.opens)
