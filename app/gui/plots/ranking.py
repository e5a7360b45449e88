"""All cases by their speed: p50 and p99 as dots on their intervals, each clock by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtWidgets import QWidget

from app.formatting.text import CLOCK_TEXT, figure
from app.gui.look.controls import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.figure_view import FigureView
from app.gui.plots.style import SeriesStyle, clocks_text, remark
from app.insights.quality import quality_of
from app.plot_data.series import Series, number, quoted, ranked
from app.present.figure import Figure, Mark, Unit
from app.present.figure import Series as Marks
from app.report.figures import interval_mark, latency, names_axis

_SORTS = {"p50": "By p50", "p99": "By p99", "name": "By name", "plan": "As in the plan"}
_COLUMNS: dict[str, tuple[str, Unit]] = {
    "throughput_per_s": ("Inputs per second", "per_s"),
}


@dataclass(frozen=True, slots=True)
class RankedCase:
    """A case of the window as the figures of a report take one."""

    series: Series
    name: str
    color: int = 0

    @property
    def case_id(self) -> str:
        return self.series.key

    @property
    def is_hollow(self) -> bool:
        """Whether it is not to be ranked as it stands: simulated, doubted, or without an interval,
        as a single round is."""
        one, median = self.series, quoted(self.series, "p50")
        bounded = median is not None and median.low_us is not None
        return one.clock == "simulated" or quality_of(one) != "sound" or not bounded

    def figure(self, name: str) -> float | None:
        found = number(self.series, name)
        if found is None and name.startswith("latency_"):
            stem, _, end = name.removeprefix("latency_").removesuffix("_us").partition("_ci_")
            known = quoted(self.series, stem)
            if known is not None:
                return {"": known.value_us, "low": known.low_us, "high": known.high_us}[end]
        return found


class RankingView(FigureView):
    """A row for each case that ended well, sorted; those of one clock under each other."""

    title = "Ranking"
    hint = "p50 and p99 of every case with their 95 % intervals, sorted, each clock by itself."
    tells_apart = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice(
            "Figure",
            {"latency": "p50 and p99", **{key: name for key, (name, _) in _COLUMNS.items()}},
            "What is drawn, with 95 % intervals.",
        )
        self.sort_choice = Choice("Sort", _SORTS, "In which order the rows stand.")
        self.add_controls(self.figure_choice, self.sort_choice)

    def draw(self) -> str:
        shown = self._sorted()
        if not shown:
            return "No finished case with this figure yet."
        found = [
            self._figure([one for one in shown if one.clock == clock])
            for clock in dict.fromkeys(one.clock for one in shown)
        ]
        self.show_figures(found, self._styles_of(found, shown))
        self.show_legend([])
        left_out = sum(one.status not in ("waiting", "measuring") for one in self.series)
        left_out -= len(shown)
        notes = [clocks_text(shown), "dot p50, diamond p99, line 95 % interval"]
        notes += ["hollow: doubted, simulated or of too few rounds"]
        if left_out > 0:
            cases = "case" if left_out == 1 else "cases"
            notes.append(f"{left_out:,} {cases} without a valid figure: see Details")
        self.show_heading("Ranking", "; ".join(notes))
        return ""

    def _sorted(self) -> list[Series]:
        """Those that have the figure, wall clock first."""
        column, by = self.figure_choice.value, self.sort_choice.value
        of_rate = column != "latency"
        known = [
            one
            for one in ranked(self.series)
            if (number(one, column) if of_rate else quoted(one, "p50")) is not None
        ]
        if by == "name":
            known.sort(key=self.name_of)
        elif by != "plan" and of_rate:
            known.sort(key=lambda one: -(number(one, column) or 0.0))
        elif by != "plan":
            known.sort(key=lambda one: _value(one, by))
        return sorted(known, key=lambda one: list(CLOCK_TEXT).index(one.clock))

    def _figure(self, cases: Sequence[Series]) -> Figure:
        ranked_cases = [RankedCase(one, f"{self.name_of(one)}{remark(one)}") for one in cases]
        if self.figure_choice.value == "latency":
            found = latency(ranked_cases)
        else:
            found = _rates(ranked_cases, self.figure_choice.value)
        labelled = tuple(
            replace(series, marks=tuple(_labelled(mark, found.x.unit) for mark in series.marks))
            for series in found.series
        )
        return replace(found, title=CLOCK_TEXT[cases[0].clock].capitalize(), series=labelled)

    def _styles_of(
        self, figures: Sequence[Figure], shown: Sequence[Series]
    ) -> dict[str, SeriesStyle]:
        by_key = self.arrangement.styles(shown, self.theme)
        return {
            series.name: replace(by_key[series.cases[0]].of_line(), simulated=False)
            for figure in figures
            for series in figure.series
        }

    def table(self) -> Table:
        columns = ["clock", "latency_p50_us", "latency_p50_ci_low_us", "latency_p50_ci_high_us"]
        columns += ["latency_p99_us", "latency_p99_ci_low_us", "latency_p99_ci_high_us"]
        columns += ["throughput_per_s", "device_name"]
        rows: list[list[object]] = []
        for one in self._sorted():
            case = RankedCase(one, "")
            figures = [case.figure(name) for name in columns[1:-1]]
            rows.append([one.label, one.clock, *figures, one.row.get("device_name")])
        return ["series", *columns], rows


def _value(series: Series, name: str) -> float:
    found = quoted(series, name)
    return float("inf") if found is None else found.value_us


def _labelled(mark: Mark, unit: Unit) -> Mark:
    return replace(mark, label=figure(mark.x, unit))


def _rates(cases: Sequence[RankedCase], column: str) -> Figure:
    """A rate of each case with its interval, as `app.report.figures.latency` has latencies."""
    title, unit = _COLUMNS[column]
    stem = column.removesuffix(f"_{unit}")
    marks = [
        (one, interval_mark(one, place, column, f"{stem}_ci", unit))
        for place, one in enumerate(cases)
    ]
    series = [
        Marks(
            f"{one.name} {title}",
            (replace(mark, text=f"{title}: {mark.text}"),),
            cases=(one.case_id,),
        )
        for one, mark in marks
        if mark is not None
    ]
    x = replace(latency(cases).x, title=title.lower(), unit=unit)
    return Figure(title, x, names_axis(cases), tuple(series))
