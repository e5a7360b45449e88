"""Two runs side by side: per case the ratio of p50 and p99, and where the machines differ."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsWidget, QStyleOptionGraphicsItem, QWidget

from app.gui.look.csv_file import Table
from app.gui.look.theme import Theme
from app.gui.plots.axes import LogAxis, NamesAxis
from app.gui.plots.bars import ROW_HEIGHT
from app.gui.plots.legend import Entry, plot_font
from app.gui.plots.overlay import Overlay
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import legend_text
from app.results.compare import PERCENTILES, Pair, RunSide, differences, pairs
from app.results.text import significant
from app.stats.ratio import Ratio

_MOST_NOTES = 8


class CompareView(ScrolledView):
    """A row per case that both runs measured; left of 1 the second run is faster."""

    title = "Compare runs"
    hint = "The latency of the second run divided by that of the first, case by case."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sides: tuple[RunSide, RunSide] | None = None

    def set_runs(self, first: RunSide, second: RunSide) -> None:
        self._sides = (first, second)
        self.mark_dirty()

    def draw(self) -> str:
        if self._sides is None:
            return "Open two runs to compare them."
        first, second = self._sides
        shared = pairs(first, second)
        if not shared:
            return f"{first.name} and {second.name} have no finished case in common."
        self.reset()
        notes = differences(first.environment, second.environment)
        noted = NotesItem(_notes_text(notes), self.theme)
        self.body.addItem(noted, row=0, col=0, colspan=2)
        height = 74 + (ROW_HEIGHT + 4) * len(shared)
        for column, name in enumerate(PERCENTILES):
            self._draw_ratios(column, name, shared).setMaximumHeight(height + 40)
        self.canvas.setMinimumHeight(int(100 + noted.minimumHeight() + height))
        self.body.layout.setRowStretchFactor(1, 1)
        colors = _colors(self.theme)
        self.show_legend(
            [
                Entry("second faster", pg.mkPen(colors[-1]), symbol="o"),
                Entry("slower", pg.mkPen(colors[1]), symbol="o"),
                Entry("undecided: the 95 % interval holds 1", pg.mkPen(colors[0]), symbol="o"),
            ]
        )
        self.show_heading(
            f"{second.name} over {first.name}",
            f"{len(shared)} cases in both; each interval for itself, not for all together",
        )
        return ""

    def _draw_ratios(self, column: int, name: str, shared: Sequence[Pair]) -> pg.PlotItem:
        rows = NamesAxis()
        rows.set_names([legend_text(pair.first) for pair in shared] if column == 0 else [])
        axis = LogAxis("bottom", lambda value: f"{value:.4g}")
        plot = self.add_plot(1, column, axis, rows, name=name, x_label=f"Ratio of {name}")
        rows.setTextPen(self.theme.text)
        if column:
            plot.hideAxis("left")
        box = plot.getViewBox()
        box.invertY(True)
        box.setMouseEnabled(False, False)
        plot.setYRange(-0.7, len(shared) - 0.3, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        found = [pair.ratios.get(name) for pair in shared]
        ends = [0.0]
        for one in filter(None, found):
            limits = (one.interval.low, one.interval.high) if one.interval else (one.value,)
            ends += [math.log10(limit) for limit in limits]
        reach = max(0.02, *(abs(end) for end in ends)) * 1.1
        plot.setXRange(-reach, reach * 2.2, padding=0)
        self.lay(RatioLayer(plot, found, self.theme))
        return plot

    def table(self) -> Table:
        header = ["case"]
        for name in PERCENTILES:
            header += [f"{name}_ratio", f"{name}_ci_low", f"{name}_ci_high"]
        rows: list[list[object]] = []
        for pair in pairs(*self._sides) if self._sides else ():
            row: list[object] = [legend_text(pair.first)]
            for name in PERCENTILES:
                found = pair.ratios.get(name)
                interval = found.interval if found else None
                row += [found.value if found else None]
                row += [interval.low, interval.high] if interval else [None, None]
            rows.append(row)
        return header, rows


def _notes_text(notes: Sequence[tuple[str, str, str]]) -> list[str]:
    if not notes:
        return ["The environments of both runs are the same."]
    lines = [f"{name}: {a}  |  {b}" for name, a, b in notes[:_MOST_NOTES]]
    more = [f"and {len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else []
    return ["The environments differ (first | second), so part of a ratio may be theirs:"] + (
        [f"    {line}" for line in lines + more]
    )


def _colors(theme: Theme) -> dict[int, QColor]:
    """Blue and vermilion, not green and red: told apart by everyone."""
    return {
        -1: QColor(theme.accent),
        0: QColor(theme.muted),
        1: QColor(theme.runtimes["openvino-cpu"]),
    }


class NotesItem(QGraphicsWidget):
    """A few lines of text, elided to the width."""

    def __init__(self, lines: Sequence[str], theme: Theme) -> None:
        super().__init__()
        self._lines, self._theme = tuple(lines), theme
        height = len(lines) * self._line_height() + 8
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)

    @staticmethod
    def _line_height() -> float:
        return QFontMetricsF(plot_font()).height() + 3.0

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setFont(plot_font())
        metrics = QFontMetricsF(painter.font())
        for k, line in enumerate(self._lines):
            place = QRectF(
                8.0, k * self._line_height(), self.size().width() - 16.0, self._line_height()
            )
            painter.setPen(QColor(self._theme.muted if k else self._theme.text))
            text = metrics.elidedText(line, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)


class RatioLayer(Overlay):
    """A dot on its interval in each row, the figures behind, and the line where nothing changed."""

    def __init__(self, plot: pg.PlotItem, ratios: Sequence[Ratio | None], theme: Theme) -> None:
        super().__init__(plot)
        self._ratios, self._theme = tuple(ratios), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.text), 1.0))
        one = self.x_px(0.0)
        painter.drawLine(QPointF(one, box.top()), QPointF(one, box.bottom()))
        painter.setFont(plot_font())
        metrics = QFontMetricsF(painter.font())
        colors = _colors(self._theme)
        for row, found in enumerate(self._ratios):
            if found is None:
                continue
            middle = self.y_px(row)
            color = colors[found.decided]
            text, right = significant(found.value), self.x_px(math.log10(found.value))
            painter.setPen(QPen(color, 2.0))
            if found.interval is not None:
                low, high = (
                    self.x_px(math.log10(limit))
                    for limit in (found.interval.low, found.interval.high)
                )
                painter.drawLine(QPointF(low, middle), QPointF(high, middle))
                limits = (found.interval.low, found.interval.high)
                text += f"  [{significant(limits[0])}, {significant(limits[1])}]"
                right = high
            painter.setBrush(color)
            painter.drawEllipse(QPointF(self.x_px(math.log10(found.value)), middle), 4.0, 4.0)
            painter.setPen(QColor(self._theme.text))
            left = max(right, one) + 10
            room = QRectF(left, middle - 10, box.right() - left, 20)
            told = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, told)
