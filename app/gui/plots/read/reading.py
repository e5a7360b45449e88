"""What stands at a place of a plot, as values; readers know it, and where the next place is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from PySide6.QtGui import QColor

from app.gui.plots.read.brush import Brush


@dataclass(frozen=True, slots=True)
class Line:
    """What is read of one case, in its colour."""

    text: str
    color: QColor | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """At `x` and `y` in the plot's own coordinates; None where no line is drawn through.

    `keys` are the cases that a click there chooses, `opens` the samples that a double click shows.
    """

    title: str
    lines: tuple[Line, ...]
    x: float | None
    y: float | None = None
    keys: tuple[str, ...] = ()
    opens: Brush | None = None

    @property
    def text(self) -> str:
        return "\n".join([self.title, *(line.text for line in self.lines)])


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a plot, and how wide and high a pixel is there, in the plot's coordinates.

    The height is negative where they grow downwards.
    """

    x: float
    y: float
    pixel: tuple[float, float]


class Reader(Protocol):
    """One for each plot, made when it is drawn."""

    def at(self, place: Place) -> Reading | None:
        """What stands there; None where nothing does."""

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The next bin, sample or mark in that direction; None where there is none."""
