"""A case over all runs of its folder: p50 and p99 with their intervals, and where they changed."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.cases.latency_columns import INTERVALS
from app.formatting.text import counted, interval, latency
from app.gui.look.csv_file import Table
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme, verdict_color
from app.gui.plots.axes import NamesAxis, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import lay_intervals
from app.gui.plots.read.reading import Spot, SpotReader
from app.history.trends import PERCENTILES, History, Point, Trend
from app.stats.change_points import MINIMUM_RUNS
from exporters.types import GraphlapError

_COLUMNS = ["run", "created_at_utc", "host", "percentile", "value_us", "ci_low_us", "ci_high_us"]


class HistoryView(PlotView):
    """The runs from left to right, oldest first; a line where another level begins."""

    title = "History"
    hint = "The p50 and p99 of one case over all runs that lie beside the open one."

    def __init__(self, parent: QWidget | None = None) -> None:
        self._history: History | GraphlapError | None = None
        self._case, self._label = "", ""
        self._has_others = False
        super().__init__(parent)

    def set_history(self, history: History | GraphlapError) -> None:
        """What was read, or why there is nothing to show."""
        self._history = history
        self.mark_dirty()

    def set_case(self, identity: str, label: str) -> None:
        """Show this case, by what makes it."""
        if (identity, label) != (self._case, self._label):
            self._case, self._label = identity, label
            self.mark_dirty()

    def offers(self) -> bool:
        """Whether other runs lie beside the open one; they are read once somebody looks."""
        return self._has_others

    def set_others(self, has_others: bool) -> None:
        """Whether there are other runs beside the open one."""
        if has_others != self._has_others:
            self._has_others = has_others
            self.stale.emit()

    def draw(self) -> str:
        if self._history is None:
            return "Open a run: the runs that lie beside it are its history."
        if isinstance(self._history, GraphlapError):
            return f"{self._history}."
        trends = self._trends()
        if not trends:
            return f"No run in {self._history.folder} has a sound row of {self._label or 'a case'}."
        self.reset()
        for row, trend in enumerate(trends):
            self._draw_trend(row, trend, last=row == len(trends) - 1)
        words = {change.word for trend in trends for change in trend.changes}
        self.show_legend([self._entry(word) for word in ("faster", "slower") if word in words])
        runs = max(len(trend.points) for trend in trends)
        bare = any(not point.low_us for trend in trends for point in trend.points)
        few = f"; changes are found from {MINIMUM_RUNS} runs on" if runs < MINIMUM_RUNS else ""
        open_dots = "; open dots: no interval, too few rounds" if bare else ""
        text = f"a change within {100 * self._history.band:g}% does not count"
        heading = f"{counted(runs, 'run')}; {text}{few}{open_dots}"
        self.show_heading(f"History of {self._label}", heading)
        return ""

    def _trends(self) -> list[Trend]:
        if not isinstance(self._history, History):
            return []
        case_trends = [trend for trend in self._history.trends if trend.case_id == self._case]
        return sorted(case_trends, key=lambda trend: PERCENTILES.index(trend.percentile))

    def _draw_trend(self, row: int, trend: Trend, *, last: bool) -> None:
        runs = NamesAxis("bottom")
        runs.set_names([_minute(point) for point in trend.points])
        name = f"{INTERVALS[trend.percentile]}, {trend.host or 'any host'}, {trend.clock}"
        plot = self.add_plot(row, 0, runs, time_axis("left"), name=name, y_label="Latency")
        plot.getAxis("left").setWidth(84)
        if not last:
            runs.setStyle(showValues=False)
        places = np.arange(len(trend.points), dtype=float)
        values = np.array([_log(point.value_us) for point in trend.points])
        color = QColor(self.theme.accent)
        intervals = [(k, p.low_us, p.high_us) for k, p in enumerate(trend.points) if p.low_us]
        if intervals:
            positions = np.array([k for k, _, _ in intervals])
            low = np.array([_log(low or 0.0) for _, low, _ in intervals])
            high = np.array([_log(high or 0.0) for _, _, high in intervals])
            lay_intervals(self.lay, plot, positions.astype(float), low, high, pg.mkPen(color))
        plot.plot(
            places, values, pen=pg.mkPen(color, width=1.6), symbol="o", symbolSize=7,
            symbolBrush=[_filling(color, point) for point in trend.points],
            symbolPen=pg.mkPen(color, width=1.4),
        )  # fmt: skip
        self.lay(ChangeLayer(plot, trend, self.theme))
        self.let_read(plot, SpotReader([_spot(k, point) for k, point in enumerate(trend.points)]))
        plot.setXRange(-0.5, len(places) - 0.5, padding=0)

    def _entry(self, word: str) -> Entry:
        pen = QPen(verdict_color(word, self.theme), 1.5)
        return Entry(f"{word} from this run on", pen)

    def table(self) -> Table:
        rows: list[list[object]] = [
            [
                str(point.run.path),
                point.run.created_at_utc,
                trend.host,
                trend.percentile,
                point.value_us,
                point.low_us,
                point.high_us,
            ]
            for trend in self._trends()
            for point in trend.points
        ]
        return _COLUMNS, rows


def _filling(color: QColor, point: Point) -> QBrush:
    """Open where a run has no interval: one round looks no surer than three."""
    return QBrush(color) if point.low_us else QBrush(Qt.BrushStyle.NoBrush)


def _log(microseconds: float) -> float:
    return math.log10(max(1e-9, microseconds * 1e-6))


def _spot(place: int, point: Point) -> Spot:
    text = latency(point.value_us)
    if point.low_us and point.high_us:
        text += f", {interval(point.low_us, point.high_us)} with 95 %"
    title = f"{point.run.path.name} of {point.run.created_at_utc[:16].replace('T', ' ')}"
    return Spot(float(place), _log(point.value_us), title, (text,))


def _minute(point: Point) -> str:
    """`11-21 14:02` of a moment in ISO 8601."""
    return point.run.created_at_utc[5:16].replace("T", " ")


class ChangeLayer(Overlay):
    """The level of each stretch, and a line with its words where another begins."""

    def __init__(self, plot: pg.PlotItem, trend: Trend, theme: Theme) -> None:
        super().__init__(plot)
        self._levels = trend.levels()
        self._changes = trend.changes
        self._theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0))
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QPen(QColor(self._theme.muted), 1.2, Qt.PenStyle.DashLine))
        for begin, end, level in self._levels:
            y = self.y_px(_log(level))
            painter.drawLine(QPointF(self.x_px(begin - 0.4), y), QPointF(self.x_px(end + 0.4), y))
        for (begin, _, _), change in zip(self._levels[1:], self._changes, strict=True):
            color, x = verdict_color(change.word, self._theme), self.x_px(begin - 0.5)
            painter.setPen(QPen(color, 1.5))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            text = f"{change.word} {change.ratio - 1.0:+.1%}, {latency(change.after_us)}"
            place = QRectF(x + 4, box.top() + 2, box.right() - x - 6, metrics.height())
            elided_text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft, elided_text)
