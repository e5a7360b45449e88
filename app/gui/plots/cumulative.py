"""The cumulative plot: which share of the samples was at most so slow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.gui.look.controls import Switch
from app.gui.look.csv_file import Table
from app.gui.plots.arrangement import behind, behind_entries
from app.gui.plots.axes import PercentAxis, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.marks import HEADROOM, MarkLayer, mark_entries, published_marks
from app.gui.plots.parts import NAMES, PartBins, PartChoice, since_when, without_samples
from app.gui.plots.read.curves import CumulativeReader, DrawnCurve
from app.gui.plots.read.lit import lit_places
from app.gui.plots.read.overlays import BandLayer
from app.gui.plots.read.reading import Brush
from app.gui.plots.style import clocks_text, series_entries
from app.plot_data.series import Series
from app.stats.quantiles import EDGES_S

_LOG_EDGES = np.log10(EDGES_S)


class CumulativeView(PlotView):
    """One rising curve per series; the further left, the faster."""

    title = "Cumulative"
    hint = "The share of samples that were at most as slow as the latency below."
    tells_apart = True
    reads_at_left = True

    def __init__(self, parent: QWidget | None = None) -> None:
        self._parts = PartBins()
        super().__init__(parent)
        self.part_choice = PartChoice()
        self.published_box = Switch(
            "Published", "Figures that a source document prints for the model."
        )
        self.add_controls(self.part_choice, self.published_box)

    def reset(self) -> None:
        super().reset()
        self._curves: dict[str, pg.PlotDataItem] = {}
        self._colors: dict[str, QColor] = {}

    def draw(self) -> str:
        self.part_choice.offer(self.series)
        visible_series, part = self._select_series(), self.part_choice.part
        if not visible_series:
            return without_samples(
                self.series, "No samples yet. The curves appear with the first measured block."
            )
        view_range = self.kept_range()
        grey = behind(visible_series, self.arrangement, self.theme)
        styles = self.styles() | {curve.series.key: curve.style for curve in grey}
        all_series = [*self._parts.of([curve.series for curve in grey], part), *visible_series]
        if self.renew(part, [curve.key for curve in all_series]):
            self._build(all_series)
        edges: list[float] = []
        curves, own_keys = list[DrawnCurve](), {curve.key for curve in visible_series}
        for curve in all_series:
            log_s, percent = cumulative_percent(curve.counts)
            self._curves[curve.key].setData(log_s, percent)
            self._curves[curve.key].setPen(styles[curve.key].line_pen(1.8))
            if curve.key in own_keys:
                name, color = self.name_of(curve), styles[curve.key].color
                curves.append(DrawnCurve(curve.key, name, color, log_s, percent))
            edges += [log_s[0], log_s[-1]]
        self.let_read(self.plots[0], CumulativeReader(curves, part))
        self._colors = {curve.key: curve.color for curve in curves}
        marks = (
            published_marks(visible_series, self.theme) if self.published_box.isChecked() else []
        )
        self._marks.set_marks(marks)
        edges += [math.log10(mark.seconds) for mark in marks]
        if view_range is None:
            margin = max(0.02, 0.03 * (max(edges) - min(edges)))
            self.plots[0].setXRange(min(edges) - margin, max(edges) + margin, padding=0)
            top = 100.0 * (1.0 + (HEADROOM if marks else 0.03))
            self.plots[0].setYRange(0.0, top, padding=0)
        else:
            self.plots[0].setRange(xRange=view_range[0], yRange=view_range[1], padding=0)
        self.show_legend(
            [
                *series_entries(visible_series, self.name_of, styles),
                *behind_entries(grey),
                *mark_entries(marks, self.theme),
            ]
        )
        text = ", ".join(
            filter(None, (clocks_text(visible_series), since_when(visible_series, part)))
        )
        self.show_heading(
            f"Cumulative {NAMES[part].lower()}", f"{text}; all samples pooled, ±1.2 %"
        )
        return ""

    def draw_lit(self) -> None:
        if not self.plots:
            return
        part = self.part_choice.part
        self._band.set_band(self.lit.brush.log_ends(part) if self.lit else None)
        self._band.set_rugs(lit_places(self.lit, self.series, part, self._colors))

    def brush_between(self, plot: pg.PlotItem, low: float, high: float) -> Brush | None:
        return Brush(self.part_choice.part, 10.0**low, 10.0**high)

    def _select_series(self) -> list[Series]:
        """The series that have samples, with the bins of the part that is asked for."""
        return self._parts.of(self.series, self.part_choice.part)

    def _build(self, series: Sequence[Series]) -> None:
        plot = self.add_plot(
            0,
            0,
            time_axis("bottom"),
            PercentAxis("left"),
            x_label=NAMES[self.part_choice.part],
            y_label="Samples at most so slow (%)",
        )
        self._band = self.lay(BandLayer(plot, self.theme))
        self._marks = self.lay(MarkLayer(plot, self.theme))
        self._curves = {case_series.key: plot.plot(antialias=True) for case_series in series}

    def table(self) -> Table:
        rows: list[list[object]] = []
        for case_series in self._select_series():
            log_s, percent = cumulative_percent(case_series.counts)
            rows += [
                [case_series.label, case_series.clock, float(10.0**x * 1e6), float(y)]
                for x, y in zip(log_s, percent, strict=True)
            ]
        return ["series", "clock", f"{self.part_choice.part}_us", "percent_at_most"], rows


def cumulative_percent(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log10 seconds, percent) at the edges of the occupied bins, from 0 to 100 %."""
    indices = np.nonzero(counts)[0]
    first, last = indices[0], indices[-1] + 1
    counts_below = np.concatenate([[0], np.cumsum(counts[first:last])])
    return _LOG_EDGES[first : last + 1], 100.0 * counts_below / counts_below[-1]
