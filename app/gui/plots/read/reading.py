"""Places, marks and marked ranges of a plot, which readers find, and the samples of a range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, QRect
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGraphicsView

from app.analysis.plot_data.series import Part, Series, part_ns
from app.cases.round import MEASURED


@dataclass(frozen=True, slots=True)
class Span:
    """Iterations of one round of a case, as its records count them; `last` is the last of them."""

    key: str
    round: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Brush:
    """Measured samples whose `part` lies from `low_s` to below `high_s`, both in seconds.

    With `spans` it is those iterations alone, with `keys` only the samples of those cases.
    """

    part: Part
    low_s: float = 0.0
    high_s: float = math.inf
    spans: tuple[Span, ...] = ()
    keys: tuple[str, ...] = ()

    def log_ends(self, part: Part) -> tuple[float, float] | None:
        """The range in log10 seconds where it is one of this part, to be drawn as a band."""
        if self.spans or part != self.part:
            return None
        low = math.log10(self.low_s) if self.low_s > 0.0 else -math.inf
        return low, math.inf if math.isinf(self.high_s) else math.log10(self.high_s)


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
        x_distance, up = (self._x - place.x) / place.pixel[0], (self._y - place.y) / place.pixel[1]
        # How far it is from a mark's edge, 0 within.
        x_gap = np.maximum(0.0, np.abs(x_distance) - self._wide / place.pixel[0])
        y_gap = np.maximum(0.0, np.abs(up) - self._high / abs(place.pixel[1]))
        gap = np.hypot(x_gap, y_gap)
        if self._by_row:
            gap[y_gap > 0.0] = np.inf
        nearest = int(np.lexsort((np.hypot(x_distance, up), gap))[0])
        is_near = np.isfinite(gap[nearest]) if self._by_row else gap[nearest] <= _REACH_PX
        return _read(self._spots[nearest]) if is_near else None

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        x_distance = (self._x - place.x) / place.pixel[0]
        high = (self._y - place.y) / place.pixel[1]
        forward, aside = (x_distance * right, high) if right else (high * up, x_distance)
        away = np.where(forward > 0.5, forward + _ASIDE * np.abs(aside), np.inf)
        if not len(away) or not np.isfinite(away.min()):
            return None
        nearest = int(np.argmin(away))
        return float(self._x[nearest]), float(self._y[nearest])


def _read(spot: Spot) -> Reading:
    lines = tuple(Line(text, spot.color) for text in spot.lines)
    x = None if math.isinf(spot.reach[0]) else spot.x
    return Reading(spot.title, lines, x, spot.y, spot.keys, spot.opens)


def coordinates(canvas: QGraphicsView, plot: pg.PlotItem, point: QPoint) -> tuple[float, float]:
    """What lies at a pixel of the canvas, in the plot's coordinates."""
    place = plot.getViewBox().mapSceneToView(canvas.mapToScene(point))
    return place.x(), place.y()


def place(plot: pg.PlotItem, x: float, y: float) -> Place:
    """The same place with the size of a pixel there."""
    view = plot.getViewBox()
    box = view.sceneBoundingRect()
    (left, right), (low, high) = plot.viewRange()
    tall = (high - low) / box.height()
    return Place(x, y, ((right - left) / box.width(), -tall if view.yInverted() else tall))


def column(canvas: QGraphicsView, plot: pg.PlotItem, x: float) -> QPoint:
    """Where a value of the x axis lies on the canvas, half-way up the plot."""
    scene = plot.getViewBox().mapViewToScene(QPointF(x, middle(plot)[1]))
    return canvas.mapFromScene(scene)


def middle(plot: pg.PlotItem) -> tuple[float, float]:
    """The coordinates in the middle of what a plot shows."""
    (left, right), (low, high) = plot.viewRange()
    return (left + right) / 2.0, (low + high) / 2.0


def room(canvas: QGraphicsView, plots: Sequence[pg.PlotItem]) -> QRect:
    """Where the first of these plots begins, and as wide as all of them."""
    if not plots:
        return canvas.viewport().rect()
    boxes = [plot.getViewBox().sceneBoundingRect() for plot in plots]
    left, right = min(box.left() for box in boxes), max(box.right() for box in boxes)
    top, bottom = min((box.top(), box.bottom()) for box in boxes)
    corners = (canvas.mapFromScene(QPointF(left, top)), canvas.mapFromScene(QPointF(right, bottom)))
    return QRect(*corners)


def bring(plot: pg.PlotItem, x: float, y: float) -> bool:
    """Move the plot if a place would be out of sight, a fifth farther; whether it was moved."""
    x_shift, up = (
        _compute_shift(value, ends) for value, ends in zip((x, y), plot.viewRange(), strict=True)
    )
    if x_shift or up:
        plot.getViewBox().translateBy(x=x_shift, y=up)
    return bool(x_shift or up)


def _compute_shift(value: float, ends: Sequence[float]) -> float:
    low, high = ends
    margin = 0.2 * (high - low)
    return value - high + margin if value > high else value - low - margin if value < low else 0.0


@dataclass(frozen=True)
class Spent:
    """What samples took, or waited: `ns` [n]; what all views ask of it is found once."""

    ns: np.ndarray

    @cached_property
    def log_s(self) -> np.ndarray:
        """log10 seconds [n]; less than a nanosecond counts as one."""
        logarithms: np.ndarray = np.log10(np.maximum(self.ns, 1)) - 9.0
        return logarithms

    @cached_property
    def places(self) -> np.ndarray:
        """The same to 1/400 of a decade, each once: a million samples are a few hundred places."""
        if not len(self.ns):
            return self.log_s
        numbers = np.rint(self.log_s * 400.0).astype(np.int64)
        lowest = int(numbers.min())
        return (np.flatnonzero(np.bincount(numbers - lowest)) + lowest) / 400.0


@dataclass(frozen=True)
class LitSamples:
    """Of one case: `rounds` holds the indices of lit records, one array [n] for each round, and
    `starts_ns` when all records of a round started.

    `spent` are the parts of all lit ones. `of_samples` and `of_ns` are how many samples were
    measured, and what their parts sum up to.
    """

    rounds: tuple[np.ndarray, ...]
    starts_ns: tuple[np.ndarray, ...]
    spent: Spent
    of_samples: int
    of_ns: int

    @property
    def samples(self) -> int:
        return len(self.spent.ns)

    @property
    def share(self) -> float:
        """Of the measured samples."""
        return self.samples / max(1, self.of_samples)

    @cached_property
    def time_share(self) -> float:
        """Of the sum of all measured parts."""
        return float(self.spent.ns.sum()) / self.of_ns if self.of_ns > 0 else 0.0

    @cached_property
    def gaps_s(self) -> np.ndarray:
        """From the start of one lit sample to that of the next in its round [k]."""
        pairs = zip(self.starts_ns, self.rounds, strict=True)
        return np.concatenate([np.empty(0), *(np.diff(s[indices]) * 1e-9 for s, indices in pairs)])


class Lit:
    """A brush with what it has of each case; `of` answers from memory until a round grows."""

    def __init__(self, brush: Brush) -> None:
        self.brush = brush
        self._sample_cache: dict[str, tuple[list[int], LitSamples]] = {}
        self._other: dict[tuple[str, Part], tuple[LitSamples, Spent]] = {}

    def of(self, series: Series) -> LitSamples:
        lengths = [len(records) for records in series.rounds]
        entry = self._sample_cache.get(series.key)
        if entry is None or entry[0] != lengths:
            entry = lengths, self._find(series)
            self._sample_cache[series.key] = entry
        return entry[1]

    def spent(self, series: Series, part: Part) -> Spent:
        """What the lit samples of a case took, or waited: the part that a view shows."""
        lit_samples = self.of(series)
        if part == self.brush.part:
            return lit_samples.spent
        cached_samples, durations = self._other.get((series.key, part), (None, None))
        if cached_samples is not lit_samples or durations is None:
            due = series.case.scenario.is_open_loop
            pairs = zip(series.rounds, lit_samples.rounds, strict=True)
            values = [part_ns(records[indices], part, due) for records, indices in pairs]
            durations = Spent(np.concatenate([_NONE, *values]))
            self._other[series.key, part] = lit_samples, durations
        return durations

    def _find(self, series: Series) -> LitSamples:
        due = series.case.scenario.is_open_loop
        is_included = not self.brush.keys or series.key in self.brush.keys
        rounds, all_durations = [], [_NONE]
        total, total_ns = 0, 0
        for number, records in enumerate(series.rounds):
            durations = part_ns(records, self.brush.part, due)
            is_measured = records["phase"] == MEASURED
            total += int(np.count_nonzero(is_measured))
            total_ns += int(durations.sum(where=is_measured))
            indices = (
                self._select_indices(durations, is_measured, series.key, number)
                if is_included
                else _NONE
            )
            rounds.append(indices)
            all_durations.append(durations[indices])
        starts = tuple(records["started_ns"] for records in series.rounds)
        return LitSamples(
            tuple(rounds), starts, Spent(np.concatenate(all_durations)), total, total_ns
        )

    def _select_indices(
        self, durations: np.ndarray, is_measured: np.ndarray, key: str, number: int
    ) -> np.ndarray:
        brush = self.brush
        low_ns, high_ns = brush.low_s * 1e9, brush.high_s * 1e9
        mask = is_measured & (durations >= low_ns - _HALF_NS) & (durations < high_ns - _HALF_NS)
        if not brush.spans:
            return np.flatnonzero(mask)
        parts = [
            span.first + np.flatnonzero(mask[span.first : span.last + 1])
            for span in brush.spans
            if (span.key, span.round) == (key, number)
        ]
        return np.unique(np.concatenate(parts)) if parts else _NONE


def lit_places(
    highlight: Lit | None, series: Sequence[Series], part: Part, colors: Mapping[str, QColor]
) -> list[tuple[np.ndarray, QColor]]:
    """Where the lit samples of each drawn case lie, in log10 seconds [n], to 1/400 of a decade."""
    if highlight is None:
        return []
    pairs = [(highlight.spent(s, part), colors[s.key]) for s in series if s.key in colors]
    return [(durations.places, color) for durations, color in pairs if len(durations.ns)]


_NONE = np.empty(0, np.int64)
_HALF_NS = 0.5
"""Samples are whole nanoseconds: so a limit that was one of them before it became seconds is."""
