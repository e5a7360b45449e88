"""The simulated card's schedule: what each unit does in which cycle, and how full the card is."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QWidget

from app.capabilities.simulated_card.inference import CardRun
from app.formatting.text import significant
from app.gui.look.csv_file import Table
from app.gui.look.theme import runtime_color
from app.gui.plots.figure_view import FigureView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import NameLayer
from app.gui.plots.style import SeriesStyle
from app.present.figure import Axis, Figure, Mark, Series
from app.report.execution_figures import schedule


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
    series = Series("weight tiles held", tuple(marks), "bars")
    return Figure("Fit", axis, Axis(names=tuple(counts)), (series,))
