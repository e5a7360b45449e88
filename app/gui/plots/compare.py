"""Two runs side by side: per case the ratio of p50 and p99, and where the machines differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsWidget, QStyleOptionGraphicsItem, QWidget

from app.gui.plots.axes import LogAxis, NamesAxis
from app.gui.plots.bars import ROW_HEIGHT
from app.gui.plots.base import Table
from app.gui.plots.legend import Entry, plot_font
from app.gui.plots.overlay import Overlay
from app.gui.plots.ratio import Ratio, percentile_figure, ratio
from app.gui.plots.rows import ranked
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import legend_text
from app.gui.plots.text import significant
from app.gui.series import Series
from app.gui.theme import Theme

_PERCENTILES = ("p50", "p99")
_MOST_NOTES = 8


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: its name, its cases, and the environment of its manifest."""

    name: str
    series: tuple[Series, ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """One case in both runs; a percentile that either run lacks is missing."""

    label: str
    ratios: Mapping[str, Ratio]


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
        for column, name in enumerate(_PERCENTILES):
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
        rows.set_names([pair.label for pair in shared] if column == 0 else [])
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
        for name in _PERCENTILES:
            header += [f"{name}_ratio", f"{name}_ci_low", f"{name}_ci_high"]
        rows: list[list[object]] = []
        for pair in pairs(*self._sides) if self._sides else ():
            row: list[object] = [pair.label]
            for name in _PERCENTILES:
                found = pair.ratios.get(name)
                interval = found.interval if found else None
                row += [found.value if found else None]
                row += [interval.low, interval.high] if interval else [None, None]
            rows.append(row)
        return header, rows


def pairs(first: RunSide, second: RunSide) -> list[Pair]:
    """The cases that both runs finished, by case id; a clock that differs is no pair."""
    others = {one.key: one for one in ranked(second.series)}
    found = []
    for one in ranked(first.series):
        other = others.get(one.key)
        if other is None or other.clock != one.clock:
            continue
        ratios = {}
        for name in _PERCENTILES:
            a, b = percentile_figure(one, name), percentile_figure(other, name)
            if a is not None and b is not None:
                ratios[name] = ratio(a, b)
        if ratios:
            found.append(Pair(legend_text(one), ratios))
    return found


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, first value, second value) of what the environments do not share."""
    a, b = _flat(first), _flat(second)
    return [
        (name, a.get(name, "not known"), b.get(name, "not known"))
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value not in (None, ""):
            flat[prefix + name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return flat


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
