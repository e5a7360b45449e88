"""Runs beside each other: the ratios of two case by case, and the history of one case over many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from PySide6.QtCore import QPoint, QRectF, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGraphicsWidget, QPushButton, QStyleOptionGraphicsItem, QWidget

from app.analysis.comparison.judge import Comparison, Sides, interval_note
from app.analysis.comparison.measured_case import COMPARED
from app.analysis.insights.quality import Quality
from app.cases.objectives import Word
from app.formatting.text import CLOCK_TEXT, counted
from app.gui.look.controls import named
from app.gui.look.overlay import plot_font, write_line
from app.gui.look.text import Table
from app.gui.look.theme import Theme, verdict_color
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.style import SeriesStyle
from app.present.console.history import trend_figure
from app.present.console.verdicts import run_variation_notes
from app.present.report.comparison_figures import ratio_figures
from app.runs.history.run_comparison import RunSide, compare_runs
from app.runs.history.trends import PERCENTILES, History, Trend
from app.stats.change_points import MINIMUM_RUNS
from exporters.types import GraphlapError

_MOST_NOTES = 8


class CompareView(FigureView):
    """A row per case that both runs measured; left of 1 the second run is faster."""

    title = "Compare runs"
    hint = "The latency of the second run divided by that of the first, case by case."
    asked = Signal()
    """A second run is to be chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        button = QPushButton("Compare with run… (Ctrl+D)", self.canvas)
        tip = "Chooses the second run, which is laid beside the open one."
        self.ask_button = named(button, "Compare with run", tip)
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
        figures = list(ratio_figures(comparison))
        if not figures:
            return "No case has a percentile in both runs."
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
            row: list[object] = [f"{case.label} ({CLOCK_TEXT[case.clock]})"]
            for name in _list_percentiles(comparison):
                row += _cells(case.percentiles.get(name))
            rows.append(row)
        return header, rows


def _list_percentiles(comparison: Comparison | None) -> tuple[str, ...]:
    """The percentiles of which some case has a verdict; p50 and p99 where none has."""
    cases = comparison.cases if comparison else ()
    return tuple(dict.fromkeys(name for case in cases for name in case.percentiles)) or COMPARED


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
        wide, high = self.size().width() - 16.0, self._line_height()
        for k, line in enumerate(self._lines):
            color = self._theme.muted if k else self._theme.text
            write_line(painter, QRectF(8.0, k * high, wide, high), line, plot_font(), color)


_COLUMNS = ["run", "created_at_utc", "host", "percentile", "value_us", "ci_low_us", "ci_high_us"]


class HistoryView(FigureView):
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
        case_style = SeriesStyle(QColor(self.theme.accent), simulated=False)
        level_style = SeriesStyle(QColor(self.theme.muted), simulated=True)
        self.show_figures(
            [
                replace(figure, title=figure.title.removeprefix(f"{trend.label}, "))
                for trend, figure in zip(trends, map(trend_figure, trends), strict=True)
            ],
            {"runs": case_style, "level": level_style},
            together=False,
        )
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
