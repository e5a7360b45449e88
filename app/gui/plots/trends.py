"""Any figure over any setting that is a number: batch, threads, a rate of requests, an option.

Over a rate or a gap its curves have a knee, the rate that a search has found, and its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.curves import Curve, curves, rate_found
from app.analysis.plot_data.series import Series, interval_columns, number, ranked
from app.analysis.plot_data.settings import Line, figures, lines, numeric_settings
from app.formatting.text import CLOCK_TEXT, latency, rate_text
from app.gui.look.controls import Choice
from app.gui.look.text import Table
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import Mark as RateMark
from app.gui.plots.marks import MarkLayer
from app.gui.plots.style import SeriesStyle, clocks_text, hollow_entry
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Symbol, Unit, with_interval
from app.present.figure import Series as Marks

_BOTH = "p50_p99"
_COLUMNS = {_BOTH: ("latency_p50_us", "latency_p99_us")}
_PERCENTILES: Mapping[str, tuple[str, Symbol]] = {
    "latency_p50_us": ("p50", "circle"),
    "latency_p99_us": ("p99", "diamond"),
}
_RATE, _GAP = "offered_rate_hz", "gap_us"
_WIDE, _MOST_TICKS = 8.0, 12
"""Values so many times apart lie on a logarithmic axis; fewer values than that have a tick each."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One column of a line of cases, by its name in the legend."""

    line: Line
    column: str

    @property
    def name(self) -> str:
        return f"{self.line.model} {self.line.name} {self.column}"

    def known(self) -> list[tuple[float, Series, float]]:
        """(x, case, value) of the cases that have the figure."""
        candidates = ((x, s, number(s, self.column)) for x, s in self.line.points)
        return [
            (x, case_series, value) for x, case_series, value in candidates if value is not None
        ]


class TrendsView(FigureView):
    """A plot for each model; in it a line for whatever differs beside the setting along x."""

    title = "Trends"
    hint = (
        "Any figure over any size, option, rate or gap of the sweep that is a number, with its "
        "interval; over a rate also the knee, beyond which requests wait."
    )

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.over_choice = Choice("Over", {}, "Which setting of the sweep goes across.")
        self.figure_choice = Choice("Figure", {}, "Which column goes up.")
        self.add_controls(self.figure_choice, self.over_choice)

    def offers(self) -> bool:
        return bool(numeric_settings(_well(self._all_series)))

    def draw(self) -> str:
        series = _well(self.series)
        self.over_choice.set_texts(numeric_settings(series))
        choices = figures(series)
        both = {_BOTH: "p50 and p99"} if set(_COLUMNS[_BOTH]) <= choices.keys() else {}
        self.figure_choice.set_texts(both | choices)
        trends = self._trends(series)
        if not trends:
            return (
                "Nothing that varies here is a number. Measure several batch sizes, threads, rates "
                "or values of an option."
            )
        styles = self._styles_of(trends)
        models = list(dict.fromkeys(trend.line.model for trend in trends))
        model_figures = [self._figure(model, trends) for model in models]
        plots = self.show_figures(model_figures, styles)
        if self._over_load:
            for plot, model in zip(plots, models, strict=True):
                model_curves = [curve for curve in curves(series) if curve.model == model]
                layer = self.lay(MarkLayer(plot, self.theme))
                layer.set_marks(list(_rate_marks(model_curves, trends, styles)))
        self._explain(trends, styles)
        return ""

    @property
    def _over_load(self) -> bool:
        return self.over_choice.value == _RATE

    def _trends(self, series: Sequence[Series]) -> list[Trend]:
        choice = self.figure_choice.value
        columns = _COLUMNS.get(choice, (choice,))
        candidates = [
            Trend(line, c) for line in lines(series, self.over_choice.value) for c in columns
        ]
        return [trend for trend in candidates if trend.known()]

    def _styles_of(self, trends: Sequence[Trend]) -> dict[str, SeriesStyle]:
        """Lines of one name look alike in every plot."""
        firsts = {trend.line.name: trend.line.points[0][1] for trend in trends}
        look = self.styles(fading=False)
        return {trend.name: look[firsts[trend.line.name].key].of_line() for trend in trends}

    def _figure(self, model: str, trends: Sequence[Trend]) -> Figure:
        setting = self.over_choice.value
        every = [point for trend in trends for point in trend.known()]
        columns = [trend.column for trend in trends]
        x = _axis([x for x, _, _ in every], setting, self.over_choice.currentText(), ticks=True)
        y = _axis([v for _, _, v in every], columns[0], self.figure_choice.currentText())
        model_trends = [trend for trend in trends if trend.line.model == model]
        targets = {
            target.limit_us: f"{target.latency} <= {latency(target.limit_us)}"
            for trend in model_trends
            for _, case_series, _ in trend.known()
            if self._over_load and (target := rate_found(case_series)) is not None
        }
        return Figure(
            model,
            x,
            y,
            tuple(series for trend in model_trends for series in _marks(trend, y.unit)),
            tuple(ReferenceLine("y", us, text, "error") for us, text in targets.items()),
        )

    def _explain(self, trends: Sequence[Trend], styles: Mapping[str, SeriesStyle]) -> None:
        firsts = {trend.line.name: trend for trend in trends}
        entries = [
            Entry(
                f"{name} ({CLOCK_TEXT[trend.line.points[0][1].clock]})",
                styles[trend.name].line_pen(1.8),
                symbol="o",
            )
            for name, trend in firsts.items()
        ]
        muted_pen = pg.mkPen(QColor(self.theme.muted))
        cases = [case for trend in trends for _, case, _ in trend.known()]
        if self.figure_choice.value == _BOTH:
            entries += [Entry("p50", muted_pen, symbol="o"), Entry("p99", muted_pen, symbol="d")]
        if any(case not in ranked([case]) for case in cases):
            entries.append(Entry("not valid, see its warnings", muted_pen, symbol="x"))
        notes = [clocks_text(cases)]
        if self._over_load:
            pen = QPen(QColor(self.theme.muted), 1.2, Qt.PenStyle.DotLine)
            entries.append(Entry("knee: beyond it waiting grows faster than the rate", pen))
            notes.append("open loops from when runs were due")
            notes += dict.fromkeys(found.sentence for case in cases if (found := rate_found(case)))
        self.show_legend([*entries, *hollow_entry(cases, self.theme, dots=True)])
        title = f"{self.figure_choice.currentText()} over {self.over_choice.currentText().lower()}"
        self.show_heading(title, "; ".join(filter(None, notes)))

    def table(self) -> Table:
        visible_series, setting = _well(self.series), self.over_choice.value
        trends = self._trends(visible_series)
        columns = list(dict.fromkeys(trend.column for trend in trends))
        header = [name for column in columns for name in (column, *interval_columns(column))]
        return ["model", "line", "clock", setting, "valid", *header], [
            [line.model, line.name, case_series.clock, x, case_series in ranked([case_series])]
            + [number(case_series, name) for name in header]
            for line in {(t.line.model, t.line.name): t.line for t in trends}.values()
            for x, case_series in line.points
            if any(number(case_series, column) is not None for column in columns)
        ]


def _well(series: Sequence[Series]) -> list[Series]:
    """Those with figures: the ranked ones, and of loads also what broke its own protocol, crossed,
    since it shows where that begins."""
    valid = {id(case_series) for case_series in ranked(series)}
    return [
        s for s in series if id(s) in valid or (s.status == "ok" and s.case.scenario.is_open_loop)
    ]


def _unit(name: str) -> Unit:
    if name.endswith("_us"):
        return "us"
    return "per_s" if name.endswith(("_per_s", "_hz")) else ""


def _axis(values: Sequence[float], name: str, title: str, *, ticks: bool = False) -> Axis:
    """Times and rates are always logarithmic, what has a zero never; a chosen value has a tick."""
    unit, tick_values = _unit(name), sorted(set(values))
    positive = min(values) > 0.0
    is_log = positive and (bool(unit) or max(values) >= _WIDE * min(values))
    has_ticks = ticks and not unit and len(tick_values) <= _MOST_TICKS
    return Axis(
        title,
        unit if positive or not unit else "",
        "log" if is_log else "linear",
        ticks=tuple((value, f"{value:.6g}") for value in tick_values) if has_ticks else (),
    )


def _marks(trend: Trend, unit: Unit) -> Iterator[Marks]:
    """The line, and crosses over the cases that broke their own protocol."""
    label, symbol = _PERCENTILES.get(trend.column, ("", "circle"))
    points = trend.known()
    marks = [
        _mark(x, case_series, value, trend.column, label, unit) for x, case_series, value in points
    ]
    name, keys = trend.name, tuple(case_series.key for _, case_series, _ in points)
    yield Marks(name, tuple(marks), "line", symbol=symbol, cases=keys)
    invalid_indices = [k for k, (_, s, _) in enumerate(points) if s not in ranked([s])]
    if invalid_indices:
        invalid_marks = tuple(marks[k] for k in invalid_indices)
        cases = tuple(keys[k] for k in invalid_indices)
        yield Marks(name, invalid_marks, symbol="cross", cases=cases, has_legend=False)


def _mark(x: float, case_series: Series, value: float, column: str, label: str, unit: Unit) -> Mark:
    low, high = (number(case_series, end) for end in interval_columns(column))
    value_text, low, high = with_interval(value, low, high, unit)
    text = f"{case_series.label}: {label} {value_text}".replace("  ", " ")
    hollow = quality_of(case_series) != "sound" or (unit == "us" and low is None)
    return Mark(x, value, text, low, high, is_hollow=hollow)


def _rate_marks(
    model_curves: Sequence[Curve], trends: Sequence[Trend], styles: Mapping[str, SeriesStyle]
) -> Iterator[RateMark]:
    by_case = {case.key: trend.name for trend in trends for _, case, _ in trend.known()}
    for curve in model_curves:
        name = next((by_case[case.key] for case in curve.cases if case.key in by_case), "")
        if not name:
            continue
        color, target = styles[name].color, curve.found()
        if (knee := curve.knee_hz()) is not None:
            yield RateMark(knee, f"knee {rate_text(knee)}", color, "knee")
        if target is not None and target.low_hz:
            low_hz = target.low_hz
            yield RateMark(low_hz, f"holds {rate_text(low_hz)}", color, "measured")
