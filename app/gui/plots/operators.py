"""Where the time of one inference goes: by operator, or on a simulated card by cycle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.analysis.plot_data.card import CardRun
from app.analysis.plot_data.series import Series
from app.cases.jobs import Operator, OperatorTimes
from app.formatting.text import CLOCK_TEXT, amount, counted, significant, time_text
from app.gui.look.controls import Choice
from app.gui.look.text import Table
from app.gui.look.theme import runtime_color
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import NameLayer
from app.gui.plots.style import SeriesStyle
from app.present.figure import Axis, Figure, Mark
from app.present.figure import Series as Marks
from app.present.report.execution_figures import schedule
from app.run_folder.diagnostics import diagnostics_of, text
from app.run_folder.operators import SUM_DIAGNOSTICS
from app.runs.following.state import CaseDetails
from exporters.diagnostics import Diagnostic
from runtimes.execution import Clock

MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """One operator and the `engine` that ran it; `share` of all operators, from 0 to 1, None if
    that says nothing of the run."""

    own: Operator
    share: float | None
    engine: str


_FIGURE_NAMES = (
    *("engine_name", "macs", "bytes_moved", "peak_share", "in_use_bytes", "peak_bytes"),
    *("arena_bytes", "pool_run_us", "pool_wait_us"),
)
"""Of an operator, as a copied table has them."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of the operators that bars can show, in the units of the axis."""

    value: Callable[[OperatorTime], float | None]
    text: Callable[[OperatorTime], str]
    x_label: str


_FIGURES = {
    "time": _Figure(
        lambda row: row.own.time_us,
        lambda row: (
            time_text(row.own.time_us * 1e-6)
            + (f"  {significant(100.0 * row.share)} %" if row.share is not None else "")
            + _peak_text(row.own.peak_share)
        ),
        "Time in one inference (µs)",
    ),
    "memory": _Figure(
        lambda row: None if row.own.peak_bytes is None else row.own.peak_bytes / 1e6,
        lambda row: amount(row.own.peak_bytes or 0, "B"),
        "Most memory in use while it runs (MB)",
    ),
    "waiting": _Figure(
        lambda row: row.own.pool_wait_us,
        lambda row: time_text((row.own.pool_wait_us or 0.0) * 1e-6),
        "The calling thread waits for other threads (µs)",
    ),
}


class OperatorsView(FigureView):
    """The slowest operators on top, coloured by the engine that ran them."""

    title = "Operators"
    hint = "The time that each operator of the graph takes, by the runtime's profiler."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[OperatorTime, ...] = ()
        self._name = self._reason = ""
        self._runs = 0
        self._doubts: tuple[Diagnostic, ...] = ()
        self._clock: Clock = "wall"
        self.group_choice = Choice(
            "Group",
            {"node": "Each operator", "op": "By kind of operator"},
            "One bar for each node of the graph, or one for all nodes of a kind.",
        )
        self.figure_choice = Choice(
            "Show",
            {"time": "Time", "memory": "Memory", "waiting": "Waiting for threads"},
            "Time, the most memory in use while an operator runs, or how long its calling thread "
            "waits for the others. ONNX Runtime reports the last two.",
        )
        self.add_controls(self.group_choice, self.figure_choice)

    def offers(self) -> bool:
        """Any case may have operators; they are read once somebody looks at them."""
        return True

    def set_details(self, details: CaseDetails, case_series: Series) -> None:
        """Show the case's operators; nothing yet if none were recorded."""
        profile, label = details.operators, case_series.label
        if profile is None:
            self.set_operators((), label, "wall")
            return
        engine = details.engine or details.case.runtime
        rows = operator_times(profile, engine, details.elsewhere)
        doubts = [
            entry for entry in diagnostics_of(case_series.row) if entry.code in SUM_DIAGNOSTICS
        ]
        self.set_operators(rows, label, profile.clock, profile.runs, profile.reason, doubts)

    def set_operators(
        self,
        rows: Sequence[OperatorTime],
        name: str,
        clock: Clock,
        runs: int = 0,
        reason: str = "",
        doubts: Sequence[Diagnostic] = (),
    ) -> None:
        """Show these, medians over `runs` runs; `name` says whose they are, `doubts` that they do
        not add up to the run.

        Without rows, `reason` tells why the profiler gave none, if it was asked.
        """
        self._rows, self._name, self._clock = tuple(rows), name, clock
        self._runs, self._reason, self._doubts = runs, reason, tuple(doubts)
        self.mark_dirty()

    def draw(self) -> str:
        if not self._rows:
            if self._reason:
                return f"No operator profile of {self._name}: {self._reason}"
            return "No operator profile. A run has one if “Operator times” was checked."
        figure = _FIGURES[self.figure_choice.value]
        rows = [row for row in self._group_rows() if figure.value(row) is not None]
        if not rows:
            return f"The engine of {self._name} reports no such figure of its operators."
        rows.sort(key=lambda row: -(figure.value(row) or 0.0))
        engines = sorted({row.engine for row in rows})
        palette = list(self.theme.runtimes.values())
        styles = {
            engine: SeriesStyle(
                QColor(palette[k % len(palette)]),
                self._clock == "simulated",
                "doubted" if self._doubts else "sound",
            )
            for k, engine in enumerate(engines)
        }
        shown = list(enumerate(rows[:MOST_ROWS]))
        series = tuple(
            Marks(
                engine,
                tuple(self._mark_of(row, place) for place, row in shown if row.engine == engine),
                "bars",
            )
            for engine in engines
        )
        x_label = figure.x_label
        if self._doubts and figure is _FIGURES["time"]:
            x_label = "Time by the profiler (µs)"
        names = Axis(names=tuple(_bar_name(row) for _, row in shown))
        self.show_figures([Figure("", Axis(x_label), names, series)], styles)
        self.show_legend(
            [Entry(engine, styles[engine].pen(), styles[engine].fill(150)) for engine in engines]
        )
        how = f", medians of {counted(self._runs, 'profiled run')}" if self._runs else ""
        rest = f"; the first {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else ""
        highest = max((row.own for row in self._rows), key=lambda own: own.peak_bytes or 0)
        most = (
            f"; most memory in use {amount(highest.peak_bytes, 'B')}, at {highest.node}"
            if highest.peak_bytes
            else ""
        )
        doubt = f". {text(*self._doubts)}" if self._doubts else ""
        heading = f"{CLOCK_TEXT[self._clock]}{how}{rest}{most}{doubt}"
        self.show_heading(f"Operators of {self._name}", heading)
        return ""

    def _mark_of(self, row: OperatorTime, place: int) -> Mark:
        figure = _FIGURES[self.figure_choice.value]
        text = figure.text(replace(row, share=None) if self._doubts else row)
        called, own = row.own.engine_name, row.own
        text += f"  {called}" if called not in ("", own.node, own.op) else ""
        return Mark(figure.value(row) or 0.0, place, text, label=text)

    def _group_rows(self) -> list[OperatorTime]:
        if self.group_choice.value == "node":
            return list(self._rows)
        totals: dict[tuple[str, str], list[OperatorTime]] = {}
        for row in self._rows:
            totals.setdefault((row.own.op, row.engine), []).append(row)
        return [
            OperatorTime(
                Operator(
                    *(op, op, sum(r.own.time_us for r in rows), ""),
                    peak_bytes=max(_known(rows, "peak_bytes"), default=None),
                    pool_wait_us=sum(waits) if (waits := _known(rows, "pool_wait_us")) else None,
                ),
                sum(r.share or 0.0 for r in rows),
                engine,
            )
            for (op, engine), rows in totals.items()
        ]

    def table(self) -> Table:
        rows = [
            [*(row.own.node, row.own.op, row.own.time_us, row.share, row.engine)]
            + [getattr(row.own, name) for name in _FIGURE_NAMES]
            for row in self._group_rows()
        ]
        return ["node", "op", "time_us", "share", "engine", *_FIGURE_NAMES], rows


def _known(rows: Sequence[OperatorTime], name: str) -> list[Any]:
    """The values of a figure that rows have."""
    return [value for row in rows if (value := getattr(row.own, name)) is not None]


def _bar_name(row: OperatorTime) -> str:
    op, node = row.own.op, row.own.node
    return op if op == node else f"{op}  {node}"


def _peak_text(share: float | None) -> str:
    """Nothing computes beyond the machine's peak: where a figure says so the peak is too low."""
    if share is None:
        return ""
    return f"  {share:.0%} of peak" if share <= 1.0 else "  peak measured too low on a busy machine"


def operator_times(
    profile: OperatorTimes, engine: str, other_engines: Mapping[str, str]
) -> list[OperatorTime]:
    """A recorded profile's rows; `other_engines` names the engines of nodes that `engine` left."""
    total_us = profile.total_us
    return [
        OperatorTime(
            op, op.time_us / total_us if total_us else 0.0, other_engines.get(op.node, engine)
        )
        for op in profile.ops
    ]


class ScheduleView(FigureView):
    """Above, the units' instructions over cycles; below, the weight tiles on each core."""

    title = "FPGA schedule"
    hint = "Which instruction each unit of the card works at, cycle by cycle (simulated)."
    zooms = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: CardRun | None = None

    def set_run(self, run: CardRun | None) -> None:
        self._run = run
        self.follows = True
        self.mark_dirty()

    def draw(self) -> str:
        run = self._run
        if run is None:
            return "No schedule. Select a finished case of a simulated card, such as fpga:v80."
        color = runtime_color(f"fpga:{run.card.lower()}", self.theme)
        solid, hatched = SeriesStyle(color, simulated=False), SeriesStyle(color, simulated=True)
        styles = {"issues": solid, "in the pipeline": hatched, "weight tiles held": solid}
        units = schedule(None, run, maximum=None)
        plot, _ = self.show_figures([units, _fit(run)], styles, together=False)
        marks = units.series[0].marks
        names = [(mark.start, mark.y, mark.text.partition(":")[0]) for mark in marks]
        self.lay(NameLayer(plot, names, self.theme))
        self.show_legend(
            [Entry(name, style.pen(), style.fill(150)) for name, style in styles.items()]
        )
        self.show_heading(
            f"{run.model} on {run.card} {run.release}".strip(),
            f"simulated, {significant(run.latency_us)} µs = {significant(run.io_us)} µs in and "
            f"out + {run.cycles} cycles at {run.clock_mhz:g} MHz"
            + (f", {run.fidelity}" if run.fidelity else ""),
        )
        return ""

    def table(self) -> Table:
        columns = ["instruction", "unit", "begun_cycle", "issued_cycle", "done_cycle"]
        events = self._run.events if self._run else ()
        rows = [[e.name, e.unit, e.begun, e.issued, e.done, e.ahead] for e in events]
        return [*columns, "cycles_ahead"], rows


def _fit(run: CardRun) -> Figure:
    """How full the card and each of its cores is."""
    counts = {"card": (run.tiles_used, run.tiles_total)}
    each = math.floor(run.tiles_total / max(1, len(run.tiles_by_core)))
    counts |= {f"core {k}": (used, each) for k, used in enumerate(run.tiles_by_core)}
    texts = [f"{used:,} of {total:,} weight tiles" for used, total in counts.values()]
    marks = (
        Mark(100.0 * used / max(1, total), row, text, label=text)
        for row, (text, (used, total)) in enumerate(zip(texts, counts.values(), strict=True))
    )
    axis = Axis("weight tiles in use", "percent", most=100.0)
    series = Marks("weight tiles held", tuple(marks), "bars")
    return Figure("Fit", axis, Axis(names=tuple(counts)), (series,))
