"""Plots of the histogram view: outlines on one axis, or a row for each series."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme
from app.gui.plots.marks import HEADROOM, Mark, MarkLayer, mark_pen, percentiles
from app.gui.plots.read.bins import Binned, BinReader, DrawnBins
from app.gui.plots.read.lit import Spent
from app.gui.plots.read.overlays import BandLayer
from app.gui.plots.read.reading import Place, Reading
from app.gui.plots.style import Behind, LitStyle, SeriesStyle
from app.plot_data.series import Part, Series

_BEYOND_PX = 4.0
"""How far beyond the edge of the plot an outline is followed: enough to hide its end."""


class OutlineLayer(Overlay):
    """Columns between `edges` [n + 1] of `heights` [n] over a floor, in data coordinates."""

    def __init__(self, plot: pg.PlotItem, style: SeriesStyle) -> None:
        super().__init__(plot)
        self.setZValue(10)
        self._style, self._filled = style, True
        self._edges, self._heights, self._floor = np.zeros(1), np.zeros(0), 0.0

    def set_style(self, style: SeriesStyle, *, filled: bool = True) -> None:
        self._style, self._filled = style, filled

    def set_columns(self, edges: np.ndarray, heights: np.ndarray, floor: float) -> None:
        self._edges, self._heights, self._floor = edges, heights, floor
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect().adjusted(-_BEYOND_PX, -_BEYOND_PX, _BEYOND_PX, _BEYOND_PX)
        heights = np.concatenate([[self._floor], np.repeat(self._heights, 2), [self._floor]])
        x = np.clip(np.round(self.x_px(self._edges)), box.left(), box.right())
        y = np.clip(np.round(self.y_px(heights)), box.top(), box.bottom())
        steps = pg.functions.arrayToQPolygonF(np.repeat(x, 2), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if self._filled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._style.fill())
            painter.drawPolygon(steps)
        painter.setPen(self._style.pen(1.0))
        painter.drawPolyline(steps)
        if not self._filled:
            # Twice as wide by a second thin line: Qt takes ten times as long for a single wide one.
            pixel = 1.0 / painter.deviceTransform().m11()
            painter.drawPolyline(steps.translated(pixel, pixel))


_FLOOR = 0.5
"""Where a log axis begins: below one sample, so that a single sample is seen."""
MOST_FILLED = 3
"""More fills over each other than so many mix to mud."""


class Panel:
    """One plot of columns, kept from frame to frame; subclasses draw them and what is lit."""

    def __init__(self, plot: pg.PlotItem, marks: MarkLayer, band: BandLayer) -> None:
        self.plot, self.marks, self._band = plot, marks, band
        self._drawn: list[DrawnBins] = []
        self._unit: Callable[[Binned], float] = lambda _: 1.0
        self._log = False

    def draw_lit(
        self, durations_by_key: Mapping[str, Spent], band: tuple[float, float] | None
    ) -> None:
        """Fill what is lit of each of the series, and shade the range that was marked."""
        self._band.set_band(band)
        nothing = np.empty(0, np.int64)
        self.fill_lit(
            [
                drawn.bins.counted(durations_by_key[drawn.key])
                if drawn.key in durations_by_key
                else nothing
                for drawn in self._drawn
            ]
        )

    def fill_lit(self, counts: Sequence[np.ndarray]) -> None:
        """Draw so many samples in each bin [n] of each of the series."""
        raise NotImplementedError


def _drawn_bins(item: Series, style: SeriesStyle, bins: Binned, heights: np.ndarray) -> DrawnBins:
    quantiles = tuple((p.label, p.seconds) for p in percentiles(item))
    return DrawnBins(item.key, item.label, style.color, bins, heights, quantiles)


class HistogramPanel(Panel):
    """Outlines over each other, those of baselines behind."""

    def __init__(self, plot: pg.PlotItem, marks: MarkLayer, band: BandLayer) -> None:
        super().__init__(plot, marks, band)
        self.outlines: dict[str, OutlineLayer] = {}
        self._lit_layers: dict[str, OutlineLayer] = {}
        self._bottom, self._top = 0.0, 1.0

    def draw(
        self,
        series: Sequence[Series],
        grey: Sequence[Behind],
        bins_by_key: Mapping[str, Binned],
        styles: Mapping[str, SeriesStyle],
        marks: Sequence[Mark],
        unit: Callable[[Binned], float],
        log: bool,
    ) -> list[DrawnBins]:
        tops, bottoms, drawn_bins = [], [], []
        looks = [(item.series, item.style, False) for item in grey]
        looks += [(item, styles[item.key], len(series) <= MOST_FILLED) for item in series]
        for item, style, is_filled in looks:
            bins = bins_by_key[item.key]
            heights, floor = heights_of(bins.counts, unit(bins), log=log)
            edges, columns = occupied(bins, bins.counts, heights)
            self._outline(item.key, style, is_filled).set_columns(edges, columns, floor)
            drawn_bins.append(_drawn_bins(item, style, bins, heights))
            tops.append(float(heights.max(initial=floor)))
            bottoms.append(floor)
        self._top, self._bottom = max(tops), min(bottoms)
        self.marks.set_marks(marks)
        self._drawn, self._unit, self._log = drawn_bins[len(grey) :], unit, log
        return self._drawn

    def fill_lit(self, counts: Sequence[np.ndarray]) -> None:
        for layer in self._lit_layers.values():
            layer.setVisible(False)
        for drawn_bins, lit in zip(self._drawn, counts, strict=True):
            heights, floor = heights_of(lit, self._unit(drawn_bins.bins), log=self._log)
            edges, columns = occupied(drawn_bins.bins, lit, heights)
            if not len(columns):
                continue
            if drawn_bins.key not in self._lit_layers:
                self._lit_layers[drawn_bins.key] = OutlineLayer(
                    self.plot, LitStyle(drawn_bins.color, False)
                )
                self._lit_layers[drawn_bins.key].setZValue(12)
            layer = self._lit_layers[drawn_bins.key]
            layer.set_style(LitStyle(drawn_bins.color, False))
            layer.set_columns(edges, columns, floor)
            layer.setVisible(True)

    def _outline(self, key: str, style: SeriesStyle, filled: bool) -> OutlineLayer:
        if key not in self.outlines:
            self.outlines[key] = OutlineLayer(self.plot, style)
        self.outlines[key].set_style(style, filled=filled)
        return self.outlines[key]

    def show_all(self) -> None:
        room = (self._top - self._bottom) * HEADROOM / (1.0 - HEADROOM)
        self.plot.setYRange(self._bottom, self._top + room, padding=0)


def heights_of(counts: np.ndarray, unit: float, *, log: bool) -> tuple[np.ndarray, float]:
    """How high columns are drawn, and where they begin; `unit` is the height of one sample."""
    if not log:
        return counts * unit, 0.0
    lowest = _FLOOR * unit
    return np.log10(np.maximum(counts * unit, lowest)), math.log10(lowest)


def occupied(
    bins: Binned, counts: np.ndarray, heights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log10 edges and heights from the first bin with any of `counts` in it to the last."""
    indices = np.nonzero(counts)[0]
    first, last = (indices[0], indices[-1] + 1) if len(indices) else (0, 0)
    return np.log10(bins.edges_s[first : last + 1]), heights[first:last]


ROW_PX = 44
"""The least height in which a row is read."""
_TALL = 0.86
"""The share of a row that its highest column may take."""


@dataclass(frozen=True, slots=True)
class Ridge:
    """Columns between log10 edges [n + 1] of `heights` [n] from 0 to 1, and their marks; `behind`
    are the outlines of baselines, `lit` what is marked of the samples."""

    edges: np.ndarray
    heights: np.ndarray
    style: SeriesStyle
    marks: Sequence[Mark] = ()
    behind: Sequence[Ridge] = ()
    lit: Ridge | None = None


class RidgeLayer(Overlay):
    """Each ridge in its row: 0 is the topmost, and a row is as high as 1 on the y axis."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self._theme = theme
        self._ridges: tuple[Ridge, ...] = ()

    def set_ridges(self, ridges: Sequence[Ridge]) -> None:
        self._ridges = tuple(ridges)
        self.update()

    @property
    def ridges(self) -> tuple[Ridge, ...]:
        return self._ridges

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        tall = abs(self.y_px(1.0) - self.y_px(0.0))
        painter.setFont(plot_font(-1.5))
        for row, ridge in enumerate(self._ridges):
            floor = self.y_px(row + 0.5)
            if box.top() <= floor and floor - tall <= box.bottom():
                self._paint_floor(painter, floor)
                for outline in ridge.behind:
                    self._paint_columns(painter, outline, floor, tall, filled=False)
                self._paint_columns(painter, ridge, floor, tall, filled=True)
                if ridge.lit is not None:
                    self._paint_columns(painter, ridge.lit, floor, tall, filled=True)
                self._paint_marks(painter, ridge.marks, QRectF(box.left(), floor - tall, 1, tall))

    def _paint_floor(self, painter: QPainter, floor: float) -> None:
        box = self.boundingRect()
        painter.setPen(QPen(QColor(self._theme.grid), 1.0))
        painter.drawLine(QPointF(box.left(), floor), QPointF(box.right(), floor))

    def _paint_columns(
        self, painter: QPainter, ridge: Ridge, floor: float, tall: float, *, filled: bool
    ) -> None:
        box = self.boundingRect()
        heights = np.concatenate([[0.0], np.repeat(ridge.heights, 2), [0.0]])
        x = np.clip(np.round(self.x_px(ridge.edges)), box.left() - 4.0, box.right() + 4.0)
        y = np.round(floor - heights * tall * _TALL)
        steps = pg.functions.arrayToQPolygonF(np.repeat(x, 2), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if filled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ridge.style.fill())
            painter.drawPolygon(steps)
        painter.setPen(ridge.style.pen(1.0))
        painter.drawPolyline(steps)

    def _paint_marks(self, painter: QPainter, marks: Sequence[Mark], row: QRectF) -> None:
        """Lines as high as the row, intervals on its floor, texts where none overlaps another."""
        box = self.boundingRect()
        metrics = QFontMetricsF(painter.font())
        free_from = box.left()
        for mark in sorted(marks, key=lambda mark: mark.seconds):
            x = self.x_px(math.log10(mark.seconds))
            if not box.left() <= x <= box.right():
                continue
            painter.setPen(mark_pen(mark.color, mark.kind))
            painter.drawLine(QPointF(x, row.top() + 2), QPointF(x, row.bottom()))
            if mark.interval_s is not None:
                low, high = (
                    self.x_px(math.log10(v)) for v in (mark.interval_s.low, mark.interval_s.high)
                )
                painter.fillRect(QRectF(low, row.bottom() - 3, high - low, 3.0), mark.color)
            width = metrics.horizontalAdvance(mark.text)
            if x + 3 >= free_from and x + 3 + width <= box.right():
                place = QRectF(x + 3, row.top() + 1, width, metrics.height())
                painter.fillRect(place, QColor(self._theme.base))
                painter.setPen(QColor(self._theme.text))
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, mark.text)
                free_from = place.right() + 8


class RowPanel(Panel):
    """A row for each series, of which some are in sight; all rows to one scale."""

    def __init__(
        self, plot: pg.PlotItem, ridges: RidgeLayer, marks: MarkLayer, band: BandLayer
    ) -> None:
        super().__init__(plot, marks, band)
        plot.showGrid(x=True, y=False, alpha=0.35)
        plot.getViewBox().invertY(True)
        plot.getViewBox().setMouseEnabled(x=True, y=False)
        self.ridges, self._highest = ridges, 1.0

    def draw(
        self,
        series: Sequence[Series],
        grey: Sequence[Behind],
        bins_by_key: Mapping[str, Binned],
        styles: Mapping[str, SeriesStyle],
        marks: Mapping[str, Sequence[Mark]],
        unit: Callable[[Binned], float],
        log: bool,
    ) -> list[DrawnBins]:
        """The highest column of all fills its row."""
        keys = [*(item.key for item in series), *(item.series.key for item in grey)]
        heights_by_key = {
            key: _compute_heights(bins_by_key[key], bins_by_key[key].counts, unit, log)
            for key in keys
        }
        self._highest = (
            max(float(heights.max(initial=0.0)) for heights in heights_by_key.values()) or 1.0
        )
        self._unit, self._log = unit, log

        def ridge(key: str, style: SeriesStyle, outlines: Sequence[Ridge] = ()) -> Ridge:
            edges, heights = occupied(
                bins_by_key[key], bins_by_key[key].counts, heights_by_key[key] / self._highest
            )
            return Ridge(edges, heights, style, marks.get(key, ()), outlines)

        self.ridges.set_ridges(
            [
                ridge(
                    item.key,
                    styles[item.key],
                    [ridge(g.series.key, g.style) for g in grey if g.key == item.key],
                )
                for item in series
            ]
        )
        self._drawn = [
            _drawn_bins(item, styles[item.key], bins_by_key[item.key], heights_by_key[item.key])
            for item in series
        ]
        return self._drawn

    def fill_lit(self, counts: Sequence[np.ndarray]) -> None:
        ridges = []
        for ridge, drawn_bins, lit in zip(self.ridges.ridges, self._drawn, counts, strict=True):
            heights = _compute_heights(drawn_bins.bins, lit, self._unit, self._log) / self._highest
            edges, heights = occupied(drawn_bins.bins, lit, heights)
            lit_ridge = Ridge(edges, heights, LitStyle(drawn_bins.color, False))
            ridges.append(replace(ridge, lit=lit_ridge if len(heights) else None))
        self.ridges.set_ridges(ridges)

    def show_rows(self, rows: range, figure_marks: Sequence[Mark]) -> None:
        """Have these in sight, with room above them for what is published."""
        self.marks.set_marks(figure_marks)
        head = 0.5 if figure_marks else 0.0
        self.plot.setYRange(rows[0] - 0.5 - head, rows[-1] + 0.52, padding=0)


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


def _compute_heights(
    bins: Binned, counts: np.ndarray, unit: Callable[[Binned], float], log: bool
) -> np.ndarray:
    """Heights [n] of all columns over the floor of their row."""
    heights, floor = heights_of(counts, unit(bins), log=log)
    return heights - floor
