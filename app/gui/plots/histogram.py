"""The latency histogram, live: one filled outline per series over a logarithmic time axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.axes import count_axis, share_axis, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.legend import Entry
from app.gui.plots.marks import (
    HEADROOM,
    Mark,
    MarkLayer,
    mark_entries,
    percentile_marks,
    published_marks,
)
from app.gui.plots.outline import OutlineLayer
from app.gui.plots.parts import NAMES, PartBins, PartChoice, since_when, without_samples
from app.gui.plots.style import SeriesStyle, clocks_text, legend_text, series_styles
from app.results.series import Series
from app.stats.histogram import EDGES_S

_LOG_EDGES = np.log10(EDGES_S)
_FLOOR = 0.5
"""Where a log axis begins: below one sample, so that a single sample is seen."""

MOST_PANELS = 12


class HistogramView(PlotView):
    """Counts or densities, overlaid or one below another, with percentiles marked."""

    title = "Histogram"
    hint = "How often each latency occurred. Both axes are logarithmic, so that tails are seen."

    def __init__(self, parent: QWidget | None = None) -> None:
        self._panels: list[_Panel] = []
        self._parts = PartBins()
        super().__init__(parent)
        self.layout_choice = Choice(
            "Layout",
            {"overlaid": "Overlaid", "stacked": "One below another"},
            "Draw all series into one plot, or each into its own over the same time axis.",
        )
        self.height_choice = Choice(
            "Height",
            {"counts": "Counts", "density": "Density"},
            "Counts: samples in a bin. Density: their share of the series' samples, so that "
            "series of different length compare. A bin is 1/100 of a decade wide.",
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
        for panel, group in zip(self._panels, groups, strict=True):
            marks = list(published) if panel is self._panels[0] else _untold(published)
            if self.marks_box.isChecked():
                for one in group:
                    marks += percentile_marks(one, styles[one.key].color, names)
            panel.draw(group, styles, marks, self._height, self.log_box.isChecked())
            drawn_marks += marks
        if self.follows:
            self._show_all(shown)
        self._tell(shown, styles, drawn_marks)
        return ""

    def _tell(
        self, shown: Sequence[Series], styles: dict[str, SeriesStyle], marks: Sequence[Mark]
    ) -> None:
        entries = [Entry(legend_text(s), styles[s.key].pen(), styles[s.key].fill()) for s in shown]
        self.show_legend(entries + mark_entries(marks, self.theme))
        total = sum(int(one.counts.sum()) for one in shown)
        part = self.part_choice.part
        told = filter(None, (clocks_text(shown), since_when(shown, part), f"{total:,} samples"))
        note = ", ".join(told)
        if self.layout_choice.value == "stacked" and len(shown) > MOST_PANELS:
            note += f"; the first {MOST_PANELS} of {len(shown)} series"
        self.show_heading(f"{NAMES[part]} histogram", note)

    def _shown(self) -> list[Series]:
        """The series that have samples, with the bins of the part that is asked for."""
        return self._parts.of(self.series, self.part_choice.part)

    def _height(self, series: Series) -> np.ndarray:
        if self.height_choice.value == "counts":
            return series.counts.astype(float)
        return series.counts / series.counts.sum()

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
            self._panels.append(_Panel(plot, self.lay(MarkLayer(plot, self.theme))))

    def _show_all(self, shown: Sequence[Series]) -> None:
        occupied = np.nonzero(np.sum([one.counts for one in shown], axis=0))[0]
        edges = [_LOG_EDGES[occupied[0]], _LOG_EDGES[occupied[-1] + 1]]
        if self.published_box.isChecked():
            edges += [math.log10(f.value_us * 1e-6) for one in shown for f in one.published]
        low, high = min(edges), max(edges)
        margin = max(0.02, 0.03 * (high - low))
        self.plots[0].setXRange(low - margin, high + margin, padding=0)
        for panel in self._panels:
            panel.show_all()

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


class _Panel:
    """One plot with its outlines, kept from frame to frame."""

    def __init__(self, plot: pg.PlotItem, marks: MarkLayer) -> None:
        self._plot, self._marks = plot, marks
        self._outlines: dict[str, OutlineLayer] = {}
        self._bottom, self._top = 0.0, 1.0

    def draw(
        self,
        group: Sequence[Series],
        styles: dict[str, SeriesStyle],
        marks: Sequence[Mark],
        height: Callable[[Series], np.ndarray],
        log: bool,
    ) -> None:
        tops, bottoms = [], []
        for one in group:
            heights = height(one)
            occupied = np.nonzero(one.counts)[0]
            first, last = occupied[0], occupied[-1] + 1
            floor = 0.0
            if log:
                lowest = _FLOOR * heights.sum() / one.counts.sum()
                heights = np.log10(np.maximum(heights, lowest))
                floor = math.log10(lowest)
            heights = heights[first:last]
            outline = self._outline(one, styles[one.key])
            outline.set_columns(_LOG_EDGES[first : last + 1], heights, floor)
            tops.append(float(heights.max()))
            bottoms.append(floor)
        self._top, self._bottom = max(tops), min(bottoms)
        self._marks.set_marks(marks)

    def _outline(self, series: Series, style: SeriesStyle) -> OutlineLayer:
        if series.key not in self._outlines:
            self._outlines[series.key] = OutlineLayer(self._plot, style)
        self._outlines[series.key].set_style(style)
        return self._outlines[series.key]

    def show_all(self) -> None:
        room = (self._top - self._bottom) * HEADROOM / (1.0 - HEADROOM)
        self._plot.setYRange(self._bottom, self._top + room, padding=0)
