"""The plot of the histogram view: columns over each other, or a row for each series."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.analysis.plot_data.series import Part, Series
from app.gui.look.overlay import Overlay
from app.gui.look.theme import Theme
from app.gui.plots.marks import HEADROOM, percentiles
from app.gui.plots.read.bins import Binned, BinReader, DrawnBins
from app.gui.plots.read.overlays import BandLayer
from app.gui.plots.read.reading import Place, Reading, Spent
from app.gui.plots.style import Behind, LitStyle, SeriesStyle

_BEYOND_PX = 4.0
"""How far beyond the edge of the plot an outline is followed: enough to hide its end."""


@dataclass(frozen=True, slots=True)
class Columns:
    """From a floor to `tops` [n] between log10 edges [n + 1], as the axes have them."""

    edges: np.ndarray
    tops: np.ndarray
    floor: float
    style: SeriesStyle
    is_filled: bool = True


class ColumnLayer(Overlay):
    """Columns of each series over each other, over all of them what is lit, and lines of floors."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot, theme)
        self.setZValue(10)
        self.columns: tuple[Columns, ...] = ()
        self.lit: tuple[Columns, ...] = ()
        self.floors: tuple[float, ...] = ()

    def draw(self, painter: QPainter) -> None:
        box = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(self._theme.grid), 1.0))
        for floor in map(self.y_px, self.floors):
            painter.drawLine(QLineF(box.left(), floor, box.right(), floor))
        for columns in (*self.columns, *self.lit):
            self._paint_columns(painter, columns)

    def _paint_columns(self, painter: QPainter, columns: Columns) -> None:
        box = self.boundingRect().adjusted(-_BEYOND_PX, -_BEYOND_PX, _BEYOND_PX, _BEYOND_PX)
        heights = np.concatenate([[columns.floor], np.repeat(columns.tops, 2), [columns.floor]])
        x = np.clip(np.round(self.x_px(columns.edges)), box.left(), box.right())
        y = np.clip(np.round(self.y_px(heights)), box.top(), box.bottom())
        steps = pg.functions.arrayToQPolygonF(np.repeat(x, 2), y)
        if columns.is_filled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(columns.style.fill())
            painter.drawPolygon(steps)
        painter.setPen(columns.style.pen(1.0))
        painter.drawPolyline(steps)
        if not columns.is_filled:
            # Twice as wide by a second thin line: Qt takes ten times as long for a single wide one.
            pixel = 1.0 / painter.deviceTransform().m11()
            painter.drawPolyline(steps.translated(pixel, pixel))


_FLOOR = 0.5
"""Where a log axis begins: below one sample, so that a single sample is seen."""
MOST_FILLED = 3
"""More fills over each other than so many mix to mud."""
ROW_PX = 44
"""The least height in which a row is read."""
_TALL = 0.86
"""The share of a row that its highest column may take."""


class HistogramPanel:
    """One plot of columns, kept from frame to frame; those of baselines lie behind.

    `in_rows`: row 0 is the topmost, a row is as high as 1 on the y axis, and the highest column of
    all fills its row. `unit` is the height of one sample.
    """

    def __init__(
        self,
        plot: pg.PlotItem,
        theme: Theme,
        *,
        in_rows: bool,
        log: bool,
        unit: Callable[[Binned], float],
    ) -> None:
        self.plot, self.in_rows, self._log, self._unit = plot, in_rows, log, unit
        self.columns, self._band = ColumnLayer(plot, theme), BandLayer(plot, theme)
        self.drawn: list[DrawnBins] = []
        self._ends, self._highest, self._rows = (0.0, 1.0), 1.0, dict[str, int]()
        if in_rows:
            plot.showGrid(x=True, y=False, alpha=0.35)
            plot.getViewBox().invertY(True)
            plot.getViewBox().setMouseEnabled(x=True, y=False)

    def draw(
        self,
        series: Sequence[Series],
        grey: Sequence[Behind],
        bins_by_key: Mapping[str, Binned],
        styles: Mapping[str, SeriesStyle],
        name_of: Callable[[Series], str],
    ) -> None:
        rows = {item.key: row for row, item in enumerate(series)}
        self._rows = rows | {item.series.key: rows[item.key] for item in grey}
        heights = {
            key: self._heights(bins_by_key[key].counts, bins_by_key[key]) for key in self._rows
        }
        ends = [(floor, float(tops.max(initial=floor))) for tops, floor in heights.values()]
        self._ends = min(floor for floor, _ in ends), max(top for _, top in ends)
        self._highest = max(top - floor for floor, top in ends) or 1.0
        is_filled = self.in_rows or len(series) <= MOST_FILLED
        looks = [(item.series.key, item.style, False) for item in grey]
        looks += [(item.key, styles[item.key], is_filled) for item in series]
        self.columns.columns = tuple(
            self._columns(key, bins_by_key[key], bins_by_key[key].counts, style, filled)
            for key, style, filled in looks
        )
        self.columns.floors = tuple(row + 0.5 for row in range(len(series) * self.in_rows))
        self.columns.update()
        self.drawn = [
            DrawnBins(
                item.key,
                name_of(item),
                styles[item.key].color,
                bins_by_key[item.key],
                heights[item.key][0],
                tuple((p.label, p.seconds) for p in percentiles(item)),
            )
            for item in series
        ]

    def _heights(self, counts: np.ndarray, bins: Binned) -> tuple[np.ndarray, float]:
        """How high columns of so many samples are drawn, and where they begin."""
        unit = self._unit(bins)
        if not self._log:
            return counts * unit, 0.0
        lowest = _FLOOR * unit
        return np.log10(np.maximum(counts * unit, lowest)), math.log10(lowest)

    def _columns(
        self, key: str, bins: Binned, counts: np.ndarray, style: SeriesStyle, filled: bool = True
    ) -> Columns:
        """From the first bin with any of `counts` in it to the last."""
        indices = np.nonzero(counts)[0]
        first, last = (indices[0], indices[-1] + 1) if len(indices) else (0, 0)
        tops, floor = self._heights(counts, bins)
        if self.in_rows:
            base = self._rows[key] + 0.5
            tops, floor = base - _TALL * (tops - floor) / self._highest, base
        edges = np.log10(bins.edges_s[first : last + 1])
        return Columns(edges, tops[first:last], floor, style, filled)

    def draw_lit(
        self, durations_by_key: Mapping[str, Spent], band: tuple[float, float] | None
    ) -> None:
        """Fill what is lit of each of the series, and shade the range that was marked."""
        self._band.set_band(band)
        lit = (
            self._columns(
                item.key,
                item.bins,
                item.bins.counted(durations_by_key[item.key]),
                LitStyle(item.color, False),
            )
            for item in self.drawn
            if item.key in durations_by_key
        )
        self.columns.lit = tuple(columns for columns in lit if len(columns.tops))
        self.columns.update()

    def show_all(self) -> None:
        """The highest column, with room above it for the texts of marks."""
        low, high = self._ends
        room = (high - low) * HEADROOM / (1.0 - HEADROOM)
        self.plot.setYRange(low, high + room, padding=0)


class RowReader:
    """The bin under the pointer, of the case in whose row it is."""

    def __init__(self, cases: Sequence[DrawnBins], part: Part) -> None:
        self._rows = [BinReader([case], part) for case in cases]

    def at(self, place: Place) -> Reading | None:
        row = round(place.y)
        if not 0 <= row < len(self._rows):
            return None
        on_floor = Place(place.x, float("-inf"), place.pixel)
        return self._rows[row].at(on_floor)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The next bin with a sample in it, or the next row."""
        row = min(max(0, round(place.y) - up), len(self._rows) - 1)
        if up:
            return (place.x, float(row)) if row != round(place.y) else None
        position = self._rows[row].beyond(place, right, 0)
        return (position[0], float(row)) if position else None
