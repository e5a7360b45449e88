"""Marks on plots: percentile lines, intervals, names beside points, and marked rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.series import Series, quoted
from app.formatting.text import time_text
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme
from app.gui.plots.legend import Entry
from app.stats.quantiles import EDGES_S, Histogram, Interval, needed_samples

SHOWN: dict[str, tuple[str, float]] = {
    "p50": ("p50", 0.5),
    "p90": ("p90", 0.9),
    "p99": ("p99", 0.99),
    "p999": ("p99.9", 0.999),
}
"""The percentiles that plots mark, by their key in a Summary: printed name and quantile."""

_ROWS = 4
_TEXTS_SHARE = 0.4
"""Of the height: more rows of texts would hide what a low plot shows."""


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile in seconds, with its interval; a provisional one is of all samples pooled."""

    name: str
    quantile: float
    seconds: float
    interval_s: Interval | None
    provisional: bool

    @property
    def label(self) -> str:
        """What it is called: the name of a row's figure is kept for that figure alone."""
        return f"pooled {self.name}" if self.provisional else self.name


def percentiles(series: Series) -> tuple[Percentile, ...]:
    """The row's p50, p90, p99, p99.9; pooled from the bins only while the case has no figures."""
    quotes = {key: quoted(series, key) for key in SHOWN}
    result = []
    for key, (name, quantile) in SHOWN.items():
        if (quote := quotes[key]) is not None:
            low, high = quote.low_us, quote.high_us
            ends = Interval(_seconds(low), _seconds(high)) if low and high else None
            result.append(Percentile(name, quantile, _seconds(quote.value_us), ends, False))
        elif not any(quotes.values()) and int(series.counts.sum()) >= needed_samples(quantile):
            value = bin_quantile_s(series.counts, quantile)
            result.append(Percentile(name, quantile, value, None, True))
    return tuple(result)


def _seconds(microseconds: float) -> float:
    """At least a nanosecond, as a log axis has no zero."""
    return max(1e-9, microseconds * 1e-6)


def bin_quantile_s(counts: np.ndarray, quantile: float) -> float:
    """The quantile to half a bin, in seconds; NaN of an empty histogram."""
    histogram = Histogram()
    histogram.counts = counts
    value = histogram.quantile_s(quantile)
    return math.nan if value is None else value


@dataclass(frozen=True, slots=True)
class Mark:
    """A line at `value`, seconds or a rate, on a logarithmic axis; `kind` is one of those that have
    a pen: measured, single (without interval), provisional, published, or the knee of a curve."""

    value: float
    text: str
    color: QColor
    kind: str
    interval_s: Interval | None = None


def percentile_marks(
    series: Series,
    color: QColor,
    names: Sequence[str] = ("p50", "p90", "p99", "p99.9"),
    text: str = "",
) -> list[Mark]:
    """The series' percentiles of these names as marks; a failure's say that they are of one.

    `called` is the label of the series, where there are others beside it.
    """
    prefix = f"{text} " if text else ""
    failure_text = f", {series.status.replace('_', ' ')}" if quality_of(series) == "failed" else ""
    return [
        Mark(
            p.seconds,
            f"{prefix}{p.label} {_format_value(p)}{failure_text}",
            color,
            _kind(p),
            p.interval_s,
        )
        for p in percentiles(series)
        if p.name in names
    ]


def _kind(percentile: Percentile) -> str:
    if percentile.provisional:
        return "provisional"
    return "single" if percentile.interval_s is None else "measured"


def _format_value(percentile: Percentile) -> str:
    if not percentile.provisional:
        return time_text(percentile.seconds)
    if percentile.seconds < EDGES_S[1]:
        return f"≤ {time_text(EDGES_S[1])}"  # the first bin holds all that is shorter, even none
    return f"~{time_text(percentile.seconds)}"


def published_marks(series: Sequence[Series], theme: Theme) -> list[Mark]:
    """The published figures of all series' models, each once, in a colour of no runtime."""
    figures = dict.fromkeys(figure for case_series in series for figure in case_series.published)
    return [
        Mark(
            figure.value_us * 1e-6,
            f"published {figure.statistic} {time_text(figure.value_us * 1e-6)}, {figure.label}",
            QColor(theme.text),
            "published",
        )
        for figure in figures
    ]


def mark_entries(marks: Sequence[Mark], theme: Theme) -> list[Entry]:
    """Legend lines for the kinds of mark that are there."""
    texts = {
        "provisional": "all samples pooled, from bins (±1.2 %), until the table has the figure",
        "measured": "as in the table; band: 95 % interval",
        "single": "as in the table; without an interval, as of too few rounds",
        "published": "published, not measured here",
    }
    kinds = {mark.kind for mark in marks}
    muted_color = QColor(theme.muted)
    return [
        Entry(text, mark_pen(muted_color, kind)) for kind, text in texts.items() if kind in kinds
    ]


def mark_pen(color: QColor, kind: str) -> QPen:
    styles = {
        "provisional": Qt.PenStyle.DotLine,
        "knee": Qt.PenStyle.DotLine,
        "measured": Qt.PenStyle.SolidLine,
        "single": Qt.PenStyle.DashLine,
        "published": Qt.PenStyle.DashDotDotLine,
    }
    pen = QPen(color, 2.4 if kind == "published" else 1.4, styles[kind])
    pen.setCosmetic(True)
    return pen


class MarkLayer(Overlay):
    """Marks as vertical lines, their texts in the topmost lines where they do not overlap; over the
    whole plot, or each in a row, of which 0 is the topmost and 1 on the y axis is one's height.

    What was measured has the first choice of a line, for its text and its interval together.
    """

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot, theme)
        self.marks: Sequence[Mark] = ()
        self.rows: Sequence[Sequence[Mark]] = ()

    def set_marks(self, marks: Sequence[Mark], rows: Sequence[Sequence[Mark]] = ()) -> None:
        self.marks, self.rows = marks, rows
        self.update()

    def draw(self, painter: QPainter) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0))
        self._paint_marks(painter, self.marks, box)
        for row, marks in enumerate(self.rows):
            top, bottom = self.y_px(row - 0.5), self.y_px(row + 0.5)
            area = QRectF(box.left(), top, box.width(), bottom - top)
            if area.intersects(box):
                self._paint_marks(painter, marks, area)

    def _paint_marks(self, painter: QPainter, all_marks: Sequence[Mark], box: QRectF) -> None:
        metrics = QFontMetricsF(painter.font())
        marks = sorted(
            (mark for mark in all_marks if self._is_seen(mark, box)), key=lambda mark: mark.value
        )
        rows = max(1, min(_ROWS, int(_TEXTS_SHARE * box.height() / metrics.height())))
        used_spans: list[list[QRectF]] = [[] for _ in range(rows)]
        texts: list[tuple[QRectF, Mark]] = []
        for mark in sorted(marks, key=lambda mark: mark.kind == "published"):
            x = self.x_px(math.log10(mark.value))
            placement = self._place(mark, x, metrics, used_spans, box)
            top = box.top() + 2 + (placement[0] if placement else 0) * metrics.height()
            painter.setPen(mark_pen(mark.color, mark.kind))
            painter.drawLine(QPointF(x, top), QPointF(x, box.bottom()))
            if placement is None:
                continue
            row, left = placement
            band = self._band(mark, x, top, metrics.height())
            place = QRectF(left, top, metrics.horizontalAdvance(mark.text), metrics.height())
            shade = QColor(mark.color)
            shade.setAlpha(60)
            painter.fillRect(band, shade)
            used_spans[row].append(band | place if mark.text else band)
            if mark.text:
                texts.append((place, mark))
        ground = QColor(self._theme.base)
        ground.setAlpha(225)
        for place, mark in texts:  # over all lines, so that none crosses a figure
            painter.fillRect(place, ground)
            swatch = QRectF(place.left() - 4, place.top() + 2, 3, place.height() - 4)
            painter.fillRect(swatch, mark.color)
            painter.setPen(QColor(self._theme.text))
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, mark.text)

    def _is_seen(self, mark: Mark, box: QRectF) -> bool:
        return box.left() <= self.x_px(math.log10(mark.value)) <= box.right()

    def _band(self, mark: Mark, x: float, top: float, height: float) -> QRectF:
        """As high as the text: full-height bands of six series would hide the data."""
        if mark.interval_s is None:
            return QRectF(x, top, 0.0, height)
        low, high = (self.x_px(math.log10(v)) for v in (mark.interval_s.low, mark.interval_s.high))
        return QRectF(low, top, high - low, height)

    def _place(
        self,
        mark: Mark,
        x: float,
        metrics: QFontMetricsF,
        used_spans: Sequence[Sequence[QRectF]],
        box: QRectF,
    ) -> tuple[int, float] | None:
        """The first row where neither text nor interval meets another's, and where the text begins:
        right of the line, or left; None without room."""
        width = metrics.horizontalAdvance(mark.text)
        band = self._band(mark, x, 0.0, 1.0)
        for row, spans in enumerate(used_spans):
            for left in (x + 8, x - 8 - width):
                whole = QRectF(left, 0.0, width, 1.0) | band
                is_inside = box.left() <= left and left + width <= box.right()
                if is_inside and not any(_meet(whole, span) for span in spans):
                    return row, left
        return None


def _meet(rectangle: QRectF, other: QRectF) -> bool:
    """Whether two spans of a row come closer than texts are read apart."""
    return rectangle.left() < other.right() + 8 and other.left() < rectangle.right() + 8


HEADROOM = 0.24
"""The share of a plot's height that is kept free for the texts of marks."""


_CAP_PX = 4.0
"""By so much a cap reaches to either side."""


class CapLayer(Overlay):
    """A short line across each end of each interval, below the points."""

    def __init__(
        self, plot: pg.PlotItem, x: np.ndarray, low: np.ndarray, high: np.ndarray, pen: QPen
    ) -> None:
        super().__init__(plot)
        self._x, self._ends, self._pen = x, (low, high), pen
        self.setZValue(-1)

    def draw(self, painter: QPainter) -> None:
        painter.setPen(self._pen)
        x_pixels = self.x_px(self._x)
        for ends in self._ends:
            rows = self.y_px(ends)
            painter.drawLines(
                [
                    QLineF(x - _CAP_PX, y, x + _CAP_PX, y)
                    for x, y in zip(x_pixels.tolist(), rows.tolist(), strict=True)
                ]
            )


_MOST_NAMES = 200
_CLEAR_PX = 6.0


class NameLayer(Overlay):
    """Names at data points, beside all of these; one that finds no free place is left out until
    one zooms in. A point without a name has ""."""

    def __init__(
        self, plot: pg.PlotItem, points: Sequence[tuple[float, float, str]], theme: Theme
    ) -> None:
        super().__init__(plot, theme)
        self._points = tuple(points)

    def draw(self, painter: QPainter) -> None:
        painter.setFont(plot_font(-1.0))
        painter.setPen(QColor(self._theme.text))
        metrics = QFontMetricsF(painter.font())
        box = self.boundingRect()
        places = [(QPointF(self.x_px(x), self.y_px(y)), name) for x, y, name in self._points]
        visible_points = [(point, name) for point, name in places if box.contains(point)]
        used_areas = [QRectF(p.x() - 5, p.y() - 5, 10, 10) for p, _ in visible_points]
        for point, name in [pair for pair in visible_points if pair[1]][:_MOST_NAMES]:
            size = (metrics.horizontalAdvance(name), metrics.height())
            free = next(
                (
                    place
                    for place in _candidates(point, *size)
                    if box.contains(place) and not any(place.intersects(t) for t in used_areas)
                ),
                None,
            )
            if free is not None:
                used_areas.append(free)
                painter.drawText(free, Qt.AlignmentFlag.AlignCenter, name)


def _candidates(point: QPointF, width: float, height: float) -> Sequence[QRectF]:
    """Right, left, above and below the point."""
    return (
        QRectF(point.x() + _CLEAR_PX, point.y() - height / 2, width, height),
        QRectF(point.x() - _CLEAR_PX - width, point.y() - height / 2, width, height),
        QRectF(point.x() - width / 2, point.y() - _CLEAR_PX - height, width, height),
        QRectF(point.x() - width / 2, point.y() + _CLEAR_PX, width, height),
    )
