"""Two runs side by side: per case the ratio of p50 and p99, and where the machines differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGraphicsWidget, QPushButton, QStyleOptionGraphicsItem, QWidget

from app.cases.objectives import Word
from app.cases.units import percentile_label as percentile_as_written
from app.comparison.judge import ComparedCase, Comparison, Sides, interval_note
from app.comparison.measured_case import COMPARED
from app.console.verdicts import run_variation_notes
from app.formatting.text import CLOCK_TEXT, counted, ratio_interval, significant
from app.gui.look.csv_file import Table
from app.gui.look.overlay import plot_font
from app.gui.look.theme import Theme, verdict_color
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.style import SeriesStyle
from app.history.run_comparison import RunSide, compare_runs
from app.history.trends import History
from app.insights.quality import Quality
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series

_MOST_NOTES = 8


class CompareView(FigureView):
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
        figures = [_figure(name, comparison.cases) for name in _list_percentiles(comparison)]
        styles = {word: _style(word, self.theme) for word in get_args(Word)}
        self.show_figures(figures, styles)
        notes_item = NotesItem(_notes_text(comparison.environment), self.theme)
        self.body.addItem(notes_item, row=len(figures), col=0)
        self.canvas.setMinimumHeight(int(self.canvas.minimumHeight() + notes_item.minimumHeight()))
        self.show_legend([_entry(word, style) for word, style in styles.items()])
        self.show_heading(
            f"{comparison.second} over {comparison.first}",
            f"{counted(len(comparison.cases), 'case')} in both, judged together; "
            f"a change within {100 * comparison.band:g}% does not count; "
            + "; ".join((interval_note(comparison.verdicts), *run_variation_notes(comparison))),
        )
        return ""

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._place_button()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._place_button()

    def _place_button(self) -> None:
        """Below the sentence in the middle, which the canvas has only once it is laid out."""
        position = self.canvas.rect().center() + QPoint(0, 2 * self.fontMetrics().height())
        self.ask_button.adjustSize()
        self.ask_button.move(position - QPoint(self.ask_button.width() // 2, 0))

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


def _figure(name: str, cases: Sequence[ComparedCase]) -> Figure:
    """The ratios of one percentile, a series for each verdict; clocks are named where one of them
    is not the usual one: the room is the names'."""
    usual, label = all(case.clock == "wall" for case in cases), percentile_as_written(name)
    by_word: dict[str, list[tuple[Mark, str]]] = {}
    for row, case in enumerate(cases):
        if (sides := case.percentiles.get(name)) is not None:
            mark = _mark(row, label, sides)
            by_word.setdefault(sides.verdict.word, []).append((mark, case.case_id))
    series = (
        Series(word, tuple(mark for mark, _ in pairs), cases=tuple(key for _, key in pairs))
        for word, pairs in by_word.items()
    )
    names = tuple(case.label if usual else _name_case(case) for case in cases)
    axis = Axis(f"Ratio of {label}", "times", "log")
    reference = ReferenceLine("x", 1.0)
    return Figure(label, axis, Axis(names=names), tuple(series), (reference,))


def _mark(row: int, name: str, sides: Sides) -> Mark:
    """What is undecided is hollow: nothing is known, which is not to say that they are the same."""
    verdict, interval = sides.verdict, sides.verdict.interval
    ratio = f"ratio of {name} {significant(sides.ratio, 4)}"
    label = f"{significant(sides.ratio)} {verdict.word}"
    low = high = None
    if interval is not None:
        low, high = interval.low, interval.high
        label += f"  {ratio_interval(low, high)}"
        ratio += f", {100 * verdict.confidence:.4g} %: {ratio_interval(low, high)}"
    text = f"{ratio}, {verdict.word}{f': {verdict.detail}' if verdict.detail else ''}"
    is_hollow = verdict.word == "undecided"
    return Mark(sides.ratio, row, text, low, high, label=label, is_hollow=is_hollow)


def _name_case(case: ComparedCase) -> str:
    return f"{case.label} ({CLOCK_TEXT[case.clock]})"


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


def _style(word: str, theme: Theme) -> SeriesStyle:
    standing: Quality = "doubted" if word == "undecided" else "sound"
    return SeriesStyle(verdict_color(word, theme), False, standing)


def _entry(word: str, style: SeriesStyle) -> Entry:
    text = f"second {word}" if word in ("faster", "slower") else word
    return Entry(text, style.pen(), style.solid(), symbol="o")


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
