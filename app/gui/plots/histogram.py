"""The latency histogram, live: one filled outline per series over a logarithmic time axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.axes import count_axis, share_axis, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.histogram_panel import HistogramPanel
from app.gui.plots.legend import Entry
from app.gui.plots.marks import (
    Mark,
    MarkLayer,
    mark_entries,
    percentile_marks,
    published_marks,
)
from app.gui.plots.parts import NAMES, PartBins, PartChoice, since_when, without_samples
from app.gui.plots.read.bins import Binned, BinReader, fixed_bins
from app.gui.plots.read.brush import Brush
from app.gui.plots.read.cross import BandLayer
from app.gui.plots.read.fine import FineBins, Seen
from app.gui.plots.style import SeriesStyle, clocks_text, legend_text, series_styles
from app.results.series import Series
from app.stats.histogram import EDGES_S

_LOG_EDGES = np.log10(EDGES_S)

MOST_PANELS = 12


class HistogramView(PlotView):
    """Counts or densities, overlaid or one below another, with percentiles marked."""

    title = "Histogram"
    hint = "How often each latency occurred. Both axes are logarithmic, so that tails are seen."

    def __init__(self, parent: QWidget | None = None) -> None:
        self._panels: list[HistogramPanel] = []
        self._parts = PartBins()
        super().__init__(parent)
        self._fine = FineBins(self)
        self._fine.ready.connect(self.mark_dirty)
        self.layout_choice = Choice(
            "Layout",
            {"overlaid": "Overlaid", "stacked": "One below another"},
            "Draw all series into one plot, or each into its own over the same time axis.",
        )
        self.height_choice = Choice(
            "Height",
            {"counts": "Counts", "density": "Density"},
            "Counts: samples in a bin. Density: their share of the series' samples, so that "
            "series of different length compare. How wide a bin is the heading says; until the "
            "samples have been read it is 1/100 of a decade.",
        )
        self.log_box = Switch(
            "Log height", "A logarithmic height shows single slow samples beside thousands."
        )
        self.marks_box = Switch("Percentiles", "p99: 99 of 100 samples were at most this slow.")
        self.published_box = Switch(
            "Published", "Figures that a source document prints for the model."
        )
        self.part_choice = PartChoice()
        self.add_controls(
            self.part_choice,
            self.layout_choice,
            self.height_choice,
            self.log_box,
            self.marks_box,
            self.published_box,
        )

    def reset(self) -> None:
        super().reset()
        self._panels = []

    def draw(self) -> str:
        self.part_choice.offer(self.series)
        shown = self._shown()
        if not shown:
            return without_samples(
                self.series, "No samples yet. The histogram appears with the first measured block."
            )
        stacked = self.layout_choice.value == "stacked"
        groups = [[one] for one in shown[:MOST_PANELS]] if stacked else [shown]
        self._build(groups, stacked)
        styles = series_styles(shown, self.theme)
        published = published_marks(shown, self.theme) if self.published_box.isChecked() else []
        names = ("p50", "p99") if not stacked and len(shown) > 3 else ("p50", "p90", "p99", "p99.9")
        drawn_marks: list[Mark] = []
        if self.follows:
            self._show_range(shown)
        binned = self._binned(shown)
        for panel, group in zip(self._panels, groups, strict=True):
            marks = list(published) if panel is self._panels[0] else _untold(published)
            if self.marks_box.isChecked():
                for one in group:
                    marks += percentile_marks(one, styles[one.key].color, names)
            drawn = panel.draw(group, binned, styles, marks, self._unit, self.log_box.isChecked())
            self.let_read(panel.plot, BinReader(drawn, self.part_choice.part))
            drawn_marks += marks
        if self.follows:
            for panel in self._panels:
                panel.show_all()
        self._tell(shown, styles, drawn_marks)
        return ""

    def _tell(
        self, shown: Sequence[Series], styles: dict[str, SeriesStyle], marks: Sequence[Mark]
    ) -> None:
        entries = [Entry(legend_text(s), styles[s.key].pen(), styles[s.key].fill()) for s in shown]
        self.show_legend(entries + mark_entries(marks, self.theme))
        total = sum(int(one.counts.sum()) for one in shown)
        part = self.part_choice.part
        samples = f"{total:,} samples"
        told = filter(None, (clocks_text(shown), since_when(shown, part), samples, self._bins_text))
        note = ", ".join(told)
        if self.layout_choice.value == "stacked" and len(shown) > MOST_PANELS:
            note += f"; the first {MOST_PANELS} of {len(shown)} series"
        self.show_heading(f"{NAMES[part]} histogram", note)

    def _shown(self) -> list[Series]:
        """The series that have samples, with the bins of the part that is asked for."""
        return self._parts.of(self.series, self.part_choice.part)

    def _unit(self, bins: Binned) -> float:
        """How high one sample is."""
        return 1.0 if self.height_choice.value == "counts" else 1.0 / bins.total

    def draw_lit(self) -> None:
        part = self.part_choice.part
        lit = {s.key: self.lit.spent(s, part) for s in self.series} if self.lit else {}
        band = self.lit.brush.log_ends(part) if self.lit else None
        for panel in self._panels:
            panel.draw_lit(lit, band, log=self.log_box.isChecked())

    def brush_between(self, plot: pg.PlotItem, low: float, high: float) -> Brush | None:
        return Brush(self.part_choice.part, 10.0**low, 10.0**high)

    def _build(self, groups: Sequence[Sequence[Series]], stacked: bool) -> None:
        """Make the panels anew if other series or another layout are to be drawn."""
        log = self.log_box.isChecked()
        density = self.height_choice.value == "density"
        if not self.renew(
            stacked, log, density, self.part_choice.part, [s.key for group in groups for s in group]
        ):
            return
        unit = "share" if density else "samples"
        for row, _ in enumerate(groups):
            last = row == len(groups) - 1
            plot = self.add_plot(
                row,
                0,
                time_axis("bottom"),
                (share_axis if density else count_axis)("left") if log else None,
                x_label=NAMES[self.part_choice.part] if last else "",
                y_label=unit if stacked else f"{unit.capitalize()} in a bin",
            )
            plot.getAxis("left").setWidth(72)
            if row:
                plot.setXLink(self.plots[0])
            if not last:
                plot.getAxis("bottom").setStyle(showValues=False)
            band = self.lay(BandLayer(plot, self.theme))
            plot.getViewBox().sigXRangeChanged.connect(self._zoomed)
            self._panels.append(HistogramPanel(plot, self.lay(MarkLayer(plot, self.theme)), band))

    def _zoomed(self, *_: object) -> None:
        """Another range is looked at: finer or coarser bins for it at the next refresh."""
        if not self.follows:
            self.mark_dirty()

    def _show_range(self, shown: Sequence[Series]) -> None:
        occupied = np.nonzero(np.sum([one.counts for one in shown], axis=0))[0]
        edges = [_LOG_EDGES[occupied[0]], _LOG_EDGES[occupied[-1] + 1]]
        if self.published_box.isChecked():
            edges += [math.log10(f.value_us * 1e-6) for one in shown for f in one.published]
        low, high = min(edges), max(edges)
        margin = max(0.02, 0.03 * (high - low))
        self.plots[0].setXRange(low - margin, high + margin, padding=0)

    def _binned(self, shown: Sequence[Series]) -> Mapping[str, Binned]:
        """The bins of each case: as fine as what is seen allows once these have been found."""
        (low, high), _ = self.plots[0].viewRange()
        width_px = self.plots[0].getViewBox().sceneBoundingRect().width()
        seen = Seen(tuple(shown), self.part_choice.part, low, high, width_px)
        found = self._fine.of(seen)
        self._bins_text = ""
        if found is None:
            return {one.key: fixed_bins(one) for one in shown}
        grid = next(iter(found.values())).grid
        self._bins_text = f"bins {grid.text}" if grid else ""
        return found

    def table(self) -> Table:
        rows: list[list[object]] = []
        for one in self._shown():
            share = one.counts / max(1, int(one.counts.sum()))
            rows += [
                [
                    one.label,
                    one.clock,
                    float(EDGES_S[k] * 1e6),
                    float(EDGES_S[k + 1] * 1e6),
                    int(one.counts[k]),
                    float(share[k]),
                ]
                for k in np.nonzero(one.counts)[0]
            ]
        ends = ["from_us", "to_us"]
        if self.part_choice.part != "latency":
            ends = [f"{self.part_choice.part}_{end}" for end in ends]
        return ["series", "clock", *ends, "samples", "share"], rows


def _untold(marks: Sequence[Mark]) -> list[Mark]:
    """The same lines without their texts: told once, at the top of several panels."""
    return [replace(mark, text="") for mark in marks]
