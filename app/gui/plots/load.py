"""Latency over the load: p50 and p99 against the rate at which runs are due, or the gap between."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

from app.formatting.text import CLOCK_TEXT, latency, rate_text
from app.gui.look.choice import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.axes import count_axis, time_axis
from app.gui.plots.case_spots import case_spot, figure_text
from app.gui.plots.legend import Entry
from app.gui.plots.model_grid import ModelGrid, Point, interval_of
from app.gui.plots.rate_marks import Mark, RateMarks, TargetLine
from app.gui.plots.style import SeriesStyle, clocks_text, series_styles
from app.insights.quality import standing
from app.plot_data.curves import FEWEST, PERCENTILES, Curve, curves, place
from app.plot_data.series import Series, number, ranked

_SYMBOLS = {"p50": "o", "p99": "t1"}
_AXES = {"rate": "Runs due (1/s)", "gap": "Gap between runs"}


class LoadView(ModelGrid):
    """A grid of models; in each, p50 and p99 of every runtime over its rates or its gaps."""

    title = "Latency over load"
    hint = (
        "How p50 and p99 grow with the rate of runs, up to the knee and beyond, or with the gap "
        "between runs, as caches and clocks cool down."
    )

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.over_choice = Choice(
            "Over", {}, "Over the rate at which runs are due, or the gap between two runs."
        )
        self.figure_choice = Choice(
            "Figure",
            {"both": "p50 and p99", "p50": "p50", "p99": "p99"},
            "Which percentiles are drawn, with their 95 % intervals.",
        )
        self.add_controls(self.over_choice, self.figure_choice)

    def draw(self) -> str:
        found = curves(self.series)
        overs = {curve.over for curve in found}
        texts = {"rate": "Over the rate", "gap": "Over the gap"}
        self.over_choice.set_texts({key: text for key, text in texts.items() if key in overs})
        shown = [curve for curve in found if curve.over == self.over_choice.value]
        self.reset()
        if not shown:
            self.canvas.setMinimumHeight(0)
            return (
                f"Measure a model at {FEWEST} rates or with {FEWEST} gaps at least, such as "
                "poisson:100/s, poisson:200/s, poisson:400/s: then its latency over them is here."
            )
        over = shown[0].over
        firsts = {curve.name: curve.cases[0] for curve in shown}
        look = series_styles(list(firsts.values()), self.theme)
        styles = {name: look[one.key].of_line() for name, one in firsts.items()}
        models = list(dict.fromkeys(curve.model for curve in shown))
        self.make_room(models)
        for at, model in enumerate(models):
            bottom = count_axis("bottom") if over == "rate" else time_axis("bottom")
            plot = self.panel(at, models, bottom, time_axis("left"), _AXES[over], "Latency")
            of_model = [curve for curve in shown if curve.model == model]
            for curve in of_model:
                for name in self._percentiles():
                    self.line(plot, _points(curve, name), styles[curve.name], _SYMBOLS[name])
                    self._cross_out(plot, curve, name)
            plot.autoRange(padding=0.08)
            self._lay_target(plot, of_model)
            marks = [mark for curve in of_model for mark in _marks(curve, styles[curve.name].color)]
            self.lay(RateMarks(plot, marks, self.theme))
        self._tell(shown, styles)
        return ""

    def _lay_target(self, plot: pg.PlotItem, shown: list[Curve]) -> None:
        """The latency that a search was to keep, within what is seen."""
        sought = next((answer for curve in shown if (answer := curve.sought())), None)
        if sought is None:
            return
        limit_s = sought.limit_us * 1e-6
        (_, _), (low, high) = plot.viewRange()
        room = 0.08 * (high - low)
        at = math.log10(limit_s)
        plot.setYRange(min(low, at - room), max(high, at + room), padding=0.0)
        kept = f"{sought.latency} <= {latency(sought.limit_us)}"
        self.lay(TargetLine(plot, limit_s, kept, self.theme))

    def _percentiles(self) -> tuple[str, ...]:
        asked = self.figure_choice.value
        return PERCENTILES if asked == "both" else (asked,)

    def _tell(self, shown: list[Curve], styles: dict[str, SeriesStyle]) -> None:
        firsts = {curve.name: curve.cases[0] for curve in shown}
        entries = [
            Entry(f"{name} ({CLOCK_TEXT[firsts[name].clock]})", style.pen(1.8))
            for name, style in styles.items()
        ]
        muted = pg.mkPen(QColor(self.theme.muted))
        entries += [Entry(name, muted, symbol=_SYMBOLS[name]) for name in self._percentiles()]
        if any(curve.knee_hz() for curve in shown):
            dotted = QPen(QColor(self.theme.muted), 1.2, Qt.PenStyle.DotLine)
            entries.append(
                Entry("knee: beyond it waiting grows faster than what is served", dotted)
            )
        if any(_held_hz(curve) for curve in shown):
            solid = QPen(QColor(self.theme.muted), 1.2)
            entries.append(Entry("the rate that holds the target", solid))
        if any(_broken(curve) for curve in shown):
            entries.append(Entry("not valid, see its warnings", muted, symbol="x"))
        self.show_legend(entries)
        over = shown[0].over
        since = "; open loops from when runs were due" if over == "rate" else ""
        cases = [one for curve in shown for one in curve.cases]
        answers = dict.fromkeys(found.sentence for curve in shown if (found := curve.sought()))
        told = "; ".join([*filter(None, answers), f"{clocks_text(cases)}{since}"])
        self.show_heading(f"Latency over the {over}", told)

    def _cross_out(self, plot: pg.PlotItem, curve: Curve, name: str) -> None:
        points = [_point(one, f"latency_{name}_us") for one in _broken(curve)]
        known = [point for point in points if point is not None]
        if known:
            plot.addItem(
                pg.ScatterPlotItem(
                    [point.at for point in known],
                    [point.figure for point in known],
                    symbol="x",
                    size=13,
                    pen=pg.mkPen(QColor(self.theme.text), width=1.4),
                    brush=None,
                )
            )

    def table(self) -> Table:
        header = ["model", "variant", "clock", "scenario", "gap_us", "offered_rate_hz", "valid"]
        for name in PERCENTILES:
            header += [f"latency_{name}{end}_us" for end in ("", "_ci_low", "_ci_high")]
        rows: list[list[object]] = []
        for curve in curves(self.series):
            for one in curve.cases:
                at = place(one.case.scenario)
                told = [at, None] if curve.over == "gap" else [None, at]
                row: list[object] = [one.model, curve.name, one.clock, str(one.case.scenario)]
                row += [*told, one in ranked([one])]
                rows.append(row + [number(one, column) for column in header[7:]])
        return header, rows


def _marks(curve: Curve, color: QColor) -> Iterator[Mark]:
    if (knee := curve.knee_hz()) is not None:
        yield Mark(knee, f"knee {rate_text(knee)}", color, Qt.PenStyle.DotLine)
    if (held := _held_hz(curve)) is not None:
        yield Mark(held, f"holds {rate_text(held)}", color, Qt.PenStyle.SolidLine)


def _held_hz(curve: Curve) -> float | None:
    """The rate that a search promises."""
    sought = curve.sought()
    return None if sought is None else sought.low_hz


def _points(curve: Curve, name: str) -> list[Point]:
    points = (_point(one, f"latency_{name}_us") for one in curve.cases)
    return [point for point in points if point is not None]


def _point(series: Series, column: str) -> Point | None:
    """None for a case without this figure."""
    figure, scenario = number(series, column), series.case.scenario
    if not figure:
        return None
    unit = 1e-6 if scenario.kind == "paced" else 1.0
    at = math.log10(place(scenario) * unit)
    sound = standing(series) == "sound"
    height, name = math.log10(figure * 1e-6), column.split("_")[1]
    spot = case_spot(series, at, height, (str(scenario), figure_text(series, column, name)))
    return Point(at, height, interval_of(series, column, 1e-6), sound, spot)


def _broken(curve: Curve) -> list[Series]:
    """The cases that kept not to their own protocol, as where the arrivals themselves were late."""
    return [one for one in curve.cases if one not in ranked([one])]
