"""Two runs side by side: per case the ratio of p50 and p99, and where the machines differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGraphicsWidget, QPushButton, QStyleOptionGraphicsItem, QWidget

from app.cases.objectives import Word
from app.cases.units import percentile_label as percentile_as_written
from app.comparison.judge import ComparedCase, Comparison, Sides, interval_note
from app.comparison.measured_case import COMPARED
from app.console.verdicts import run_variation_notes
from app.formatting.text import CLOCK_TEXT, counted, ratio_interval, significant
from app.gui.look.csv_file import Table
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme, verdict_color
from app.gui.plots.axes import Levels, LogAxis, NamesAxis
from app.gui.plots.legend import Entry
from app.gui.plots.read.reading import ROW, Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView
from app.history.run_comparison import RunSide, compare_runs
from app.history.trends import History

_MOST_NOTES = 8
_AROUND_ROWS_PX, _ABOVE_PX = 74, 150
"""Room for a plot's title and axis, and for heading, legend and margins above the plots."""
_AROUND_PLOTS_PX = 30.0
"""Margins at their sides."""
_BETWEEN_TICKS_PX = 30.0


class CompareView(ScrolledView):
    """A row per case that both runs measured; left of 1 the second run is faster."""

    title = "Compare runs"
    hint = "The latency of the second run divided by that of the first, case by case."
    asked = Signal()
    """A second run is to be chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.ask_button = QPushButton("Compare with run… (Ctrl+D)", self.canvas)
        self.ask_button.setToolTip("Chooses the second run, which is laid beside the open one.")
        self.ask_button.setAccessibleName("Compare with run")
        self.ask_button.clicked.connect(self.asked)
        self._sides: tuple[RunSide, RunSide] | None = None
        self._history: History | None = None

    def set_runs(self, first: RunSide, second: RunSide, history: History | None = None) -> None:
        """`history` is that of the machine, which says how far two runs of it differ."""
        self._sides, self._history = (first, second), history
        self.mark_dirty()

    def offers(self) -> bool:
        return self._sides is not None

    def _compare(self) -> Comparison | None:
        if self._sides is None:
            return None
        first, second = self._sides
        return compare_runs(first, second, first.band, self._history)

    def draw(self) -> str:
        self.ask_button.setVisible(self._sides is None)
        comparison = self._compare()
        if self._sides is None or comparison is None:
            return "Open a second run to compare case by case."
        if not comparison.cases:
            unread = [
                side.name
                for side in self._sides
                if any(case.summary is None and case.rounds for case in side.cases)
            ]
            if unread:
                return f"Reading {' and '.join(unread)}…"
            return f"{comparison.first} and {comparison.second} have no finished case in common."
        self.reset()
        notes_item = NotesItem(_notes_text(comparison.environment), self.theme)
        self.body.addItem(notes_item, row=0, col=0, colspan=2)
        # A verdict, and its interval below it.
        row = 2.0 * QFontMetricsF(plot_font()).height() + 6.0
        height = _AROUND_ROWS_PX + row * (len(comparison.cases) + 0.4)
        for column, name in enumerate(_list_percentiles(comparison)):
            plot = self._draw_ratios(column, name, comparison.cases)
            plot.setMinimumHeight(height)
            plot.setMaximumHeight(height + 40)
        self.canvas.setMinimumHeight(int(_ABOVE_PX + notes_item.minimumHeight() + height))
        self.body.layout.setRowStretchFactor(1, 1)
        self._share_width()
        self.show_legend([_entry(word, self.theme) for word in get_args(Word)])
        self.show_heading(
            f"{comparison.second} over {comparison.first}",
            f"{counted(len(comparison.cases), 'case')} in both, judged together; "
            f"a change within {100 * comparison.band:g}% does not count; "
            + "; ".join((interval_note(comparison.verdicts), *run_variation_notes(comparison))),
        )
        return ""

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._share_width()
        self._place_button()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._place_button()

    def _place_button(self) -> None:
        """Below the sentence in the middle, which the canvas has only once it is laid out."""
        position = self.canvas.rect().center() + QPoint(0, 2 * self.fontMetrics().height())
        self.ask_button.adjustSize()
        self.ask_button.move(position - QPoint(self.ask_button.width() // 2, 0))

    def _share_width(self) -> None:
        """The same for each plot, whatever the names before the first take."""
        rows = self.plots[0].getAxis("left") if self.plots else None
        if not isinstance(rows, NamesAxis):
            return
        each = (self.canvas.width() - rows.needed_px - _AROUND_PLOTS_PX) / len(self.plots)
        for column in range(len(self.plots)):
            names = rows.needed_px if column == 0 else 0.0
            self.body.layout.setColumnPreferredWidth(column, max(1.0, each + names))

    def _draw_ratios(
        self, column: int, name: str, compared_cases: Sequence[ComparedCase]
    ) -> pg.PlotItem:
        rows, label = NamesAxis(), percentile_as_written(name)
        rows.set_names(_names(compared_cases) if column == 0 else [])
        axis = _RatioAxis("bottom", lambda value: f"{value:.4g}")
        plot = self.add_plot(1, column, axis, rows, name=label, x_label=f"Ratio of {label}")
        rows.setTextPen(self.theme.text)
        if column:
            plot.hideAxis("left")
        box = plot.getViewBox()
        box.invertY(True)
        box.setMouseEnabled(False, False)
        plot.setYRange(-0.7, len(compared_cases) - 0.3, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        all_sides = [case.percentiles.get(name) for case in compared_cases]
        ends = [0.0]
        for sides in filter(None, all_sides):
            interval = sides.verdict.interval
            limits = (interval.low, interval.high) if interval else (sides.ratio,)
            ends += [math.log10(limit) for limit in limits]
        reach = max(0.02, *(abs(end) for end in ends)) * 1.1
        axis.reach = reach
        plot.setXRange(-reach, reach * 3.2, padding=0)
        self.lay(RatioLayer(plot, all_sides, self.theme))
        spots = [_spot(row, case, all_sides[row], label) for row, case in enumerate(compared_cases)]
        self.let_read(plot, SpotReader(spots))
        return plot

    def table(self) -> Table:
        comparison = self._compare()
        header = ["case"]
        for name in _list_percentiles(comparison):
            header += [f"{name}_ratio", f"{name}_ci_low", f"{name}_ci_high"]
            header += [f"{name}_verdict", f"{name}_why"]
        rows: list[list[object]] = []
        for case in comparison.cases if comparison else ():
            row: list[object] = [_name_case(case)]
            for name in _list_percentiles(comparison):
                row += _cells(case.percentiles.get(name))
            rows.append(row)
        return header, rows


def _list_percentiles(comparison: Comparison | None) -> tuple[str, ...]:
    """The percentiles of which some case has a verdict; p50 and p99 where none has."""
    names = (
        dict.fromkeys(name for case in comparison.cases for name in case.percentiles)
        if comparison
        else ()
    )
    return tuple(names) or COMPARED


def _names(cases: Sequence[ComparedCase]) -> list[str]:
    """With their clocks where one of them is not the usual one: the room is the names'."""
    usual = all(case.clock == "wall" for case in cases)
    return [case.label if usual else _name_case(case) for case in cases]


def _name_case(case: ComparedCase) -> str:
    return f"{case.label} ({CLOCK_TEXT[case.clock]})"


def _spot(row: int, case: ComparedCase, sides: Sides | None, name: str) -> Spot:
    if sides is None:
        return Spot(
            0.0, row, _name_case(case), (f"{name}: not in both",), (case.case_id,), reach=ROW
        )
    verdict, interval = sides.verdict, sides.verdict.interval
    ratio = f"ratio of {name} {significant(sides.ratio, 4)}"
    if interval is not None:
        level = f"{100 * verdict.confidence:.4g} %"
        ratio += f", {level}: {ratio_interval(interval.low, interval.high)}"
    lines = (ratio, f"{verdict.word}{f': {verdict.detail}' if verdict.detail else ''}")
    return Spot(math.log10(sides.ratio), row, _name_case(case), lines, (case.case_id,), reach=ROW)


def _cells(sides: Sides | None) -> list[object]:
    if sides is None:
        return [None] * 5
    verdict, interval = sides.verdict, sides.verdict.interval
    limits = [interval.low, interval.high] if interval else [None, None]
    return [sides.ratio, *limits, verdict.word, verdict.detail]


def _notes_text(notes: Sequence[tuple[str, str, str]]) -> list[str]:
    if not notes:
        return ["The environments of both runs are the same."]
    lines = [f"{name}: {a}  |  {b}" for name, a, b in notes[:_MOST_NOTES]]
    more = [f"and {len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else []
    return ["The environments differ (first | second), so part of a ratio may be theirs:"] + (
        [f"    {line}" for line in lines + more]
    )


def _entry(word: str, theme: Theme) -> Entry:
    text = f"second {word}" if word in ("faster", "slower") else word
    return Entry(text, pg.mkPen(verdict_color(word, theme)), _dot(word, theme), symbol="o")


def _dot(word: str, theme: Theme) -> QBrush:
    """What is undecided is hollow: nothing is known, which is not to say that they are the same."""
    hollow = word == "undecided"
    return QBrush(QColor(theme.base) if hollow else verdict_color(word, theme))


class _RatioAxis(LogAxis):
    """One, and ticks as far as there are ratios: the room to the right is for their texts."""

    reach = math.inf

    def tickValues(self, minVal: float, maxVal: float, size: float) -> Levels:  # noqa: N802, N803
        end = min(maxVal, self.reach)
        levels = super().tickValues(minVal, end, size * (end - minVal) / (maxVal - minVal))
        if not levels:
            return levels
        (kind, tick_values), *bare = levels
        least_distance = _BETWEEN_TICKS_PX * (maxVal - minVal) / size
        return [
            (kind, [0.0, *(value for value in tick_values if abs(value) > least_distance)]),
            *bare,
        ]


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

    def __init__(self, plot: pg.PlotItem, ratios: Sequence[Sides | None], theme: Theme) -> None:
        super().__init__(plot)
        self._ratios, self._theme = tuple(ratios), theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.text), 1.0))
        unity_x = self.x_px(0.0)
        painter.drawLine(QPointF(unity_x, box.top()), QPointF(unity_x, box.bottom()))
        painter.setFont(plot_font())
        metrics = QFontMetricsF(painter.font())
        for row, ratio in enumerate(self._ratios):
            if ratio is None:
                continue
            middle = self.y_px(row)
            interval = ratio.verdict.interval
            color = verdict_color(ratio.verdict.word, self._theme)
            text, limits = f"{significant(ratio.ratio)} {ratio.verdict.word}", ""
            right = self.x_px(math.log10(ratio.ratio))
            painter.setPen(QPen(color, 2.0))
            if interval is not None:
                low, high = (
                    self.x_px(math.log10(limit)) for limit in (interval.low, interval.high)
                )
                painter.drawLine(QPointF(low, middle), QPointF(high, middle))
                limits = ratio_interval(interval.low, interval.high)
                right = high
            painter.setBrush(_dot(ratio.verdict.word, self._theme))
            painter.drawEllipse(QPointF(self.x_px(math.log10(ratio.ratio)), middle), 4.0, 4.0)
            left = max(right, unity_x) + 10
            line = metrics.height()
            top = middle - (line if limits else line / 2)
            for line_text, color_of_text in ((text, self._theme.text), (limits, self._theme.muted)):
                room = QRectF(left, top, box.right() - left, line)
                painter.setPen(QColor(color_of_text))
                elided_text = metrics.elidedText(
                    line_text, Qt.TextElideMode.ElideRight, room.width()
                )
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, elided_text)
                top += line
