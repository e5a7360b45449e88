"""A figure as data: series of marks over two axes, with intervals, reference lines and regions.

Places are numbers in the axis' unit; on an axis of names they are positions in its list. How a
figure looks is the matter of who draws it: `app/present/svg.py` for pages and files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["", "us", "per_s", "percent", "times", "flop_per_s", "count"]
Kind = Literal["points", "line", "steps", "bars"]
Symbol = Literal["circle", "diamond", "cross", "none"]
Tone = Literal["", "ok", "error", "quiet"]


@dataclass(frozen=True, slots=True)
class Axis:
    """`names` make it one of categories, from the top down; else `scale` is how numbers lie on it.

    `ticks` are (place, text) where the figure has its own. It reaches from `least` to `most` at
    least, where they are given.
    """

    title: str = ""
    unit: Unit = ""
    scale: Literal["linear", "log"] = "linear"
    names: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """`low` and `high` are the ends of an interval of its value, `start` is where a bar begins.

    `text` describes the mark, `label` is printed beside it. A hollow mark is not to be ranked.
    """

    x: float
    y: float
    text: str = ""
    low: float | None = None
    high: float | None = None
    start: float = 0.0
    label: str = ""
    is_hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Marks that belong together: points, points joined by a line, steps, or horizontal bars.

    `color` and `dash` are numbers: who draws has a list of each. `cases` are the ids of the cases
    that it is of. Bars are as thick as `thickness` says, as a share of a name's place.
    """

    name: str
    marks: tuple[Mark, ...]
    kind: Kind = "points"
    color: int = 0
    dash: int = 0
    symbol: Symbol = "circle"
    cases: tuple[str, ...] = ()
    has_legend: bool = True
    is_pale: bool = False
    thickness: float = 0.6


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line at one value of an axis, over the whole of the other."""

    axis: Literal["x", "y"]
    value: float
    label: str = ""
    tone: Tone = "quiet"


@dataclass(frozen=True, slots=True)
class Region:
    """All between two values of the x axis."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure:
    """`note` explains the marks. A renderer without pictures shows the marks as a table where
    `has_table`; elsewhere tables of the document have the same numbers."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[ReferenceLine, ...] = ()
    regions: tuple[Region, ...] = ()
    note: str = ""
    has_table: bool = False

    @property
    def is_by_name(self) -> bool:
        """Whether values, with their intervals, lie along x, and names down y."""
        return bool(self.y.names)

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark for series in self.series for mark in series.marks)


def value_span(figure: Figure, axis: Literal["x", "y"]) -> tuple[float, float]:
    """The least and the greatest value that an axis has to show, intervals included."""
    own, along_x = (figure.x, True) if axis == "x" else (figure.y, False)
    values = [mark.x if along_x else mark.y for mark in figure.marks]
    if along_x == figure.is_by_name:
        ends = (end for mark in figure.marks for end in (mark.low, mark.high) if end is not None)
        values += ends
    if along_x:
        bars = (series for series in figure.series if series.kind == "bars")
        values += [mark.start for series in bars for mark in series.marks]
    values += [line.value for line in figure.references if line.axis == axis]
    values += [end for end in (own.least, own.most) if end is not None]
    if own.scale == "log":
        values = [value for value in values if value > 0]
    return (min(values), max(values)) if values else (0.0, 1.0)
