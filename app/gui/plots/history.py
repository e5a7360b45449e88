"""A case over all runs of its folder: p50 and p99 with their intervals, and where they changed."""

from __future__ import annotations

from itertools import starmap

from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

from app.cases.latency_columns import INTERVALS
from app.formatting.text import counted, interval, latency
from app.gui.look.csv_file import Table
from app.gui.look.theme import verdict_color
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.style import SeriesStyle
from app.history.trends import PERCENTILES, History, Point, Trend
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series
from app.stats.change_points import MINIMUM_RUNS
from exporters.types import GraphlapError

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
            [_figure(trend) for trend in trends],
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


def _figure(trend: Trend) -> Figure:
    """Its runs, the level of each stretch, and a line with its words where another begins."""
    levels = trend.levels()
    stretches = (
        Series("level", (Mark(begin, level), Mark(end, level)), "line", symbol="none")
        for begin, end, level in levels
    )
    changes = (
        ReferenceLine(
            "x",
            begin - 0.5,
            f"{change.word} {change.ratio - 1.0:+.1%}, {latency(change.after_us)}",
            "error" if change.word == "slower" else "ok",
        )
        for (begin, _, _), change in zip(levels[1:], trend.changes, strict=True)
    )
    return Figure(
        f"{INTERVALS[trend.percentile]}, {trend.host or 'any host'}, {trend.clock}",
        Axis("run", ticks=tuple((k, _minute(point)) for k, point in enumerate(trend.points))),
        Axis("Latency", "us", "log"),
        (*stretches, Series("runs", tuple(starmap(_mark, enumerate(trend.points))), "line")),
        tuple(changes),
    )


def _mark(place: int, point: Point) -> Mark:
    """Open where a run has no interval: one round looks no surer than three."""
    text = f"{point.run.path.name}: {latency(point.value_us)}"
    if point.low_us and point.high_us:
        text += f", {interval(point.low_us, point.high_us)} with 95 %"
    low, high = point.low_us or None, point.high_us or None
    return Mark(place, point.value_us, text, low, high, is_hollow=low is None)


def _minute(point: Point) -> str:
    """`11-21 14:02` of a moment in ISO 8601."""
    return point.run.created_at_utc[5:16].replace("T", " ")
