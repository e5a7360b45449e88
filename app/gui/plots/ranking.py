"""All cases by their speed, each clock by itself, and their accuracy against throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtWidgets import QWidget

from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.series import (
    Series,
    batches,
    number,
    of_batch,
    quoted,
    quoted_us,
    ranked,
)
from app.formatting.text import CLOCK_TEXT, figure
from app.gui.look.controls import Choice
from app.gui.look.text import Table
from app.gui.plots.figure_view import FigureView, place
from app.gui.plots.marks import NameLayer
from app.gui.plots.style import SeriesStyle, clocks_text, hollow_entry, remark, series_entries
from app.present.figure import Axis, Figure
from app.present.report.comparison_figures import accuracy
from app.present.report.figures import interval_figure, latency

_SORTS = {"p50": "By p50", "p99": "By p99", "name": "By name", "plan": "As in the plan"}
_RATE, _RATE_TITLE = "throughput_per_s", "Inputs per second"


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
        return self.series.clock == "simulated" or quality_of(self.series) != "sound"

    def figure(self, name: str) -> float | None:
        value = number(self.series, name)
        if value is None and name.startswith("latency_"):
            stem, _, end = name.removeprefix("latency_").removesuffix("_us").partition("_ci_")
            quote = quoted(self.series, stem)
            if quote is not None:
                return {"": quote.value_us, "low": quote.low_us, "high": quote.high_us}[end]
        return value


class RankingView(FigureView):
    """A row for each case that ended well, sorted; those of one clock under each other."""

    title = "Ranking"
    hint = "p50 and p99 of every case with their 95 % intervals, sorted, each clock by itself."
    tells_apart = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure_choice = Choice(
            "Figure",
            {"latency": "p50 and p99", _RATE: _RATE_TITLE},
            "What is drawn, with 95 % intervals.",
        )
        self.sort_choice = Choice("Sort", _SORTS, "In which order the rows stand.")
        self.add_controls(self.figure_choice, self.sort_choice)

    def draw(self) -> str:
        series = self._sorted()
        if not series:
            return "No finished case with this figure yet."
        figures = [
            self._figure([case_series for case_series in series if case_series.clock == clock])
            for clock in dict.fromkeys(case_series.clock for case_series in series)
        ]
        self.show_figures(figures, self._styles_of(figures))
        self.show_legend([])
        left_out = sum(
            case_series.status not in ("waiting", "measuring") for case_series in self.series
        )
        left_out -= len(series)
        notes = [clocks_text(series), "dot p50, diamond p99, line 95 % interval"]
        notes += ["hollow: simulated, or doubted: its row has warnings"]
        if left_out > 0:
            cases = "case" if left_out == 1 else "cases"
            notes.append(f"{left_out:,} {cases} without a valid figure: see Details")
        self.show_heading("Ranking", "; ".join(notes))
        return ""

    def _sorted(self) -> list[Series]:
        """Those that have the figure, wall clock first."""
        column, sort_key = self.figure_choice.value, self.sort_choice.value
        is_rate = column != "latency"
        known_series = [
            case_series
            for case_series in ranked(self.series)
            if (number(case_series, column) if is_rate else quoted(case_series, "p50")) is not None
        ]
        if sort_key == "name":
            known_series.sort(key=self.name_of)
        elif sort_key != "plan" and is_rate:
            known_series.sort(key=lambda item: -(number(item, column) or 0.0))
        elif sort_key != "plan":
            known_series.sort(key=lambda item: quoted_us(item, sort_key))
        return sorted(known_series, key=lambda item: list(CLOCK_TEXT).index(item.clock))

    def _figure(self, cases: Sequence[Series]) -> Figure:
        ranked_cases = [RankedCase(case, f"{self.name_of(case)}{remark(case)}") for case in cases]
        if self.figure_choice.value == "latency":
            base_figure = latency(ranked_cases)
        else:
            x = Axis(_RATE_TITLE.lower(), "per_s", "log")
            base_figure = interval_figure("", x, ranked_cases, {_RATE: ""})
        unit = base_figure.x.unit
        labelled_series = tuple(
            replace(s, marks=tuple(replace(m, label=figure(m.x, unit)) for m in s.marks))
            for s in base_figure.series
        )
        return replace(
            base_figure, title=CLOCK_TEXT[cases[0].clock].capitalize(), series=labelled_series
        )

    def _styles_of(self, figures: Sequence[Figure]) -> dict[str, SeriesStyle]:
        by_key = self.styles()
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
        for case_series in self._sorted():
            case = RankedCase(case_series, "")
            figures = [case.figure(name) for name in columns[1:-1]]
            rows.append(
                [case_series.label, case_series.clock, *figures, case_series.row.get("device_name")]
            )
        return ["series", *columns], rows


class AccuracyView(FigureView):
    """Better lies to the upper right: more inputs a second, more of them right."""

    title = "Accuracy"
    hint = "The share of inputs a model gets right against how many it takes a second."
    zooms = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.batch_choice = Choice("Batch", {}, "How many inputs one inference takes at once.")
        self.runtime_choice = Choice(
            "Runtime", {"": "All runtimes"}, "Show the models on one runtime only."
        )
        self.add_controls(self.runtime_choice, self.batch_choice)

    def offers(self) -> bool:
        return any(
            number(case_series, "accuracy_top1") is not None for case_series in self._all_series
        )

    def draw(self) -> str:
        known = self._known()
        runtimes = {case_series.runtime: case_series.runtime for case_series in known}
        self.runtime_choice.set_texts({"": "All runtimes", **runtimes})
        runtime = self.runtime_choice.value
        on_runtime = [case for case in known if runtime in ("", case.runtime)]
        self.batch_choice.set_texts(batches(on_runtime))
        series = of_batch(on_runtime, self.batch_choice.value)
        styles = self.styles(fading=False)
        cases = [RankedCase(case_series, case_series.label) for case_series in series]
        figure = accuracy(cases)
        if figure is None:
            return (
                "No two finished cases whose accuracy was measured or published yet. “Labelled "
                "data” of the sweep measures it."
            )
        (plot,) = self.show_figures([figure], {case.name: styles[case.case_id] for case in cases})
        pairs = sorted(zip(series, figure.marks, strict=True), key=lambda pair: pair[1].x)
        fastest = {case_series.model: mark for case_series, mark in pairs}
        points = [
            (
                place(figure.x, mark.x),
                place(figure.y, mark.y),
                case_series.model if fastest[case_series.model] is mark else "",
            )
            for case_series, mark in pairs
        ]
        self.lay(NameLayer(plot, points, self.theme))
        entries = series_entries(series, self.name_of, styles)
        self.show_legend([*entries, *hollow_entry(series, self.theme, dots=True)])
        batch_text = self.batch_choice.currentText().lower()
        self.show_heading(
            "Accuracy against throughput",
            ", ".join(filter(None, (batch_text, clocks_text(series)))),
        )
        return ""

    def _known(self) -> Sequence[Series]:
        """Those whose rate and accuracy are both known."""
        return [
            case_series
            for case_series in ranked(self.series)
            if number(case_series, "throughput_per_s")
            and number(case_series, "accuracy_top1") is not None
        ]

    def table(self) -> Table:
        columns = ["model", "family", "runtime", "clock", "batch_size"]
        columns += ["throughput_per_s", "accuracy_top1"]
        return columns, [[case.row.get(name) for name in columns] for case in self._known()]
