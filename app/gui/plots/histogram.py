"""The latency histogram, live: an outline per series over a logarithmic time axis, or a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.axes import NamesAxis, SolidAxis, count_axis, share_axis, time_axis
from app.gui.plots.behind import Behind, behind, behind_entries
from app.gui.plots.histogram_panels import LOG_EDGES, MOST_FILLED, OutlinePanel, RowPanel
from app.gui.plots.marks import (
    Mark,
    MarkLayer,
    mark_entries,
    percentile_marks,
    published_marks,
)
from app.gui.plots.parts import NAMES, PartBins, PartChoice, since_when, without_samples
from app.gui.plots.ridges import ROW_PX, RidgeLayer
from app.gui.plots.rows import RowsView
from app.gui.plots.shift_strip import STRIP_PX, Moved, RoundQuantiles, ShiftLayer, ratio_ticks
from app.gui.plots.style import SeriesStyle, clocks_text, series_entries
from app.results.series import Series
from app.stats.histogram import EDGES_S

_LONGEST_CALLED = 22
_ALL_NAMES = ("p50", "p90", "p99", "p99.9")


class HistogramView(RowsView):
    """Counts or densities, overlaid or one below another, with percentiles marked."""

    title = "Histogram"
    hint = "How often each latency occurred. Both axes are logarithmic, so that tails are seen."
    tells_apart = True

    def __init__(self, parent: QWidget | None = None) -> None:
        self._parts = PartBins()
        self._read = RoundQuantiles()
        super().__init__(parent)
        self.layout_choice = Choice(
            "Layout",
            {"overlaid": "Overlaid", "stacked": "One below another"},
            "Draw all series over each other, or each in a row of its own over the same axis.",
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

    def draw(self) -> str:
        self.part_choice.offer(self.series)
        shown = self._shown()
        if not shown:
            return without_samples(
                self.series, "No samples yet. The histogram appears with the first measured block."
            )
        styles = self.styles()
        published = published_marks(shown, self.theme) if self.published_box.isChecked() else []
        stacked = self.layout_choice.value == "stacked"
        draw = self._draw_rows if stacked else self._draw_overlaid
        marks = [*draw(shown, styles, published), *published]
        self.show_legend(
            [
                *series_entries(shown, self.name_of, styles, filled=True),
                *behind_entries(self._grey(shown)),
                *mark_entries(marks, self.theme),
            ]
        )
        total = sum(int(one.counts.sum()) for one in shown)
        part = self.part_choice.part
        told = filter(None, (clocks_text(shown), since_when(shown, part), f"{total:,} samples"))
        self.show_heading(f"{NAMES[part]} histogram", ", ".join(told))
        return ""

    def _draw_overlaid(
        self,
        shown: Sequence[Series],
        styles: dict[str, SeriesStyle],
        published: Sequence[Mark],
    ) -> list[Mark]:
        """All into one plot; the marks of the series."""
        self.without_rows()
        grey = self._grey(shown)
        if self._renewed(shown, grey, False):
            plot = self._add_plot((share_axis if self._is_density else count_axis)("left"))
            self._panel = OutlinePanel(plot, self.lay(MarkLayer(plot, self.theme)))
            if grey:
                over = self.arrangement.baselines[0].name
                self._strip = self.lay(ShiftLayer(self._add_strip(plot), over, self.theme))
        names = ("p50", "p99") if len(shown) > MOST_FILLED else _ALL_NAMES
        marks = [mark for one in shown for mark in self._marks(one, styles, names, len(shown) > 1)]
        log = self.log_box.isChecked()
        self._panel.draw(shown, grey, styles, [*marks, *published], self._height, log)
        if grey:
            self._draw_strip(shown, grey, styles)
        if self.follows:
            self._show_times([*shown, *(one.series for one in grey)])
            self._panel.show_all()
        return marks

    def _draw_rows(
        self,
        shown: Sequence[Series],
        styles: dict[str, SeriesStyle],
        published: Sequence[Mark],
    ) -> list[Mark]:
        """Each into a row of its own; the marks of the series in sight."""
        grey = self._grey(shown, each=True)
        if self._renewed(shown, grey, True):
            names = NamesAxis()
            plot = self._add_plot(names)
            names.setTextPen(self.theme.text)
            names.set_names([self.name_of(one) for one in shown], titled=True)
            self._rows = RowPanel(
                plot,
                self.lay(RidgeLayer(plot, self.theme)),
                self.lay(MarkLayer(plot, self.theme)),
            )
        marks = {one.key: self._marks(one, styles, ("p50", "p99")) for one in shown}
        self._rows.draw(shown, grey, styles, marks, self._height, self.log_box.isChecked())
        rows = self.rows_in_sight(len(shown), ROW_PX)
        self._rows.show_rows(rows, published)
        if self.follows:
            self._show_times([*shown, *(one.series for one in grey)])
        return [mark for row in rows for mark in marks[shown[row].key]]

    def _grey(self, shown: Sequence[Series], *, each: bool = False) -> list[Behind]:
        """The baselines, with the bins of the part that is asked for."""
        found = behind(shown, self.arrangement, self.theme, each=each)
        binned = self._parts.of([one.series for one in found], self.part_choice.part)
        by_key = {one.key: one for one in binned}
        return [
            replace(one, series=by_key[one.series.key]) for one in found if one.series.key in by_key
        ]

    def _add_strip(self, over: pg.PlotItem) -> pg.PlotItem:
        axis = SolidAxis("left")
        strip = self.add_plot(1, 0, time_axis("bottom"), axis, y_label="Ratio")
        strip.getAxis("bottom").setStyle(showValues=False)
        strip.setXLink(over)
        strip.setMaximumHeight(STRIP_PX)
        strip.setMinimumHeight(STRIP_PX)
        strip.getViewBox().setMouseEnabled(x=True, y=False)
        axis.setWidth(72)
        return strip

    def _draw_strip(
        self, shown: Sequence[Series], grey: Sequence[Behind], styles: dict[str, SeriesStyle]
    ) -> None:
        first, part = self.arrangement.baselines[0], self.part_choice.part
        self._read.begin()
        moved = [
            Moved(self._read.shifts(beside, one, part, first.in_turn), styles[one.key])
            for one in shown
            if (beside := first.beside(one)) is not None
        ]
        self._strip.set_moved(moved)
        reach = self._strip.reach()
        self.plots[1].setYRange(-reach, reach, padding=0)
        self.plots[1].getAxis("left").setTicks([ratio_ticks(reach)])
        if not self._read.complete:
            self.mark_dirty()

    def _marks(
        self,
        one: Series,
        styles: dict[str, SeriesStyle],
        names: Sequence[str],
        named: bool = False,
    ) -> list[Mark]:
        if not self.marks_box.isChecked():
            return []
        called = _brief(self.name_of(one)) if named else ""
        return percentile_marks(one, styles[one.key].color, names, called)

    def _shown(self) -> list[Series]:
        """The series that have samples, with the bins of the part that is asked for."""
        return self._parts.of(self.series, self.part_choice.part)

    @property
    def _is_density(self) -> bool:
        return self.height_choice.value == "density"

    def _height(self, series: Series) -> np.ndarray:
        counts = series.counts.astype(float)
        return counts / counts.sum() if self._is_density else counts

    def _renewed(self, shown: Sequence[Series], grey: Sequence[Behind], stacked: bool) -> bool:
        """Whether the plot is to be made anew: other series or another layout are to be drawn."""
        log, part = self.log_box.isChecked(), self.part_choice.part
        told = [(one.key, self.name_of(one)) for one in shown]
        behind_them = [one.series.key for one in grey]
        return self.renew(stacked, log, self._is_density, part, told, behind_them)

    def _add_plot(self, left: SolidAxis) -> pg.PlotItem:
        """The one plot: a plain height has a plain axis, and rows have one title for all."""
        stacked = isinstance(left, NamesAxis)
        log = self.log_box.isChecked()
        unit = "Share" if self._is_density else "Samples"
        scale = f", {'logarithmic, ' if log else ''}all rows to one scale" if stacked else ""
        plot = self.add_plot(
            0,
            0,
            time_axis("bottom"),
            left if log or stacked else None,
            x_label=NAMES[self.part_choice.part],
            y_label=f"{unit} in a bin{scale}",
        )
        if not stacked:
            plot.getAxis("left").setWidth(72)
        return plot

    def _show_times(self, shown: Sequence[Series]) -> None:
        occupied = np.nonzero(np.sum([one.counts for one in shown], axis=0))[0]
        edges = [LOG_EDGES[occupied[0]], LOG_EDGES[occupied[-1] + 1]]
        if self.published_box.isChecked():
            edges += [math.log10(f.value_us * 1e-6) for one in shown for f in one.published]
        low, high = min(edges), max(edges)
        margin = max(0.02, 0.03 * (high - low))
        self.plots[0].setXRange(low - margin, high + margin, padding=0)

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


def _brief(name: str) -> str:
    """Short enough to stand before a percentile: its end tells more than its beginning."""
    return name if len(name) <= _LONGEST_CALLED else f"…{name[1 - _LONGEST_CALLED :]}"
