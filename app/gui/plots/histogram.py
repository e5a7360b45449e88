"""The latency histogram, live: an outline per series over a logarithmic time axis, or a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.axes import NamesAxis, SolidAxis, count_axis, share_axis, time_axis
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
from app.gui.plots.ridges import ROW_PX, Ridge, RidgeLayer
from app.gui.plots.rows import RowsView
from app.gui.plots.style import SeriesStyle, clocks_text, series_entries
from app.results.series import Series
from app.stats.histogram import EDGES_S

_LOG_EDGES = np.log10(EDGES_S)
_FLOOR = 0.5
"""Where a log axis begins: below one sample, so that a single sample is seen."""

MOST_FILLED = 3
"""More fills over each other than so many mix to mud."""
_LONGEST_CALLED = 22
_ALL_NAMES = ("p50", "p90", "p99", "p99.9")


class HistogramView(RowsView):
    """Counts or densities, overlaid or one below another, with percentiles marked."""

    title = "Histogram"
    hint = "How often each latency occurred. Both axes are logarithmic, so that tails are seen."
    tells_apart = True

    def __init__(self, parent: QWidget | None = None) -> None:
        self._parts = PartBins()
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
        entries = series_entries(shown, self.name_of, styles, filled=True)
        self.show_legend(entries + mark_entries(marks, self.theme))
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
        if self._renewed(shown, False):
            plot = self._add_plot((share_axis if self._is_density else count_axis)("left"))
            self._panel = _Panel(plot, self.lay(MarkLayer(plot, self.theme)))
        names = ("p50", "p99") if len(shown) > MOST_FILLED else _ALL_NAMES
        marks = [mark for one in shown for mark in self._marks(one, styles, names, len(shown) > 1)]
        self._panel.draw(
            [(one, styles[one.key]) for one in shown],
            [*marks, *published],
            self._height,
            self.log_box.isChecked(),
        )
        if self.follows:
            self._show_times(shown)
            self._panel.show_all()
        return marks

    def _draw_rows(
        self,
        shown: Sequence[Series],
        styles: dict[str, SeriesStyle],
        published: Sequence[Mark],
    ) -> list[Mark]:
        """Each into a row of its own; the marks of the series in sight."""
        if self._renewed(shown, True):
            names = NamesAxis()
            plot = self._add_plot(names)
            names.setTextPen(self.theme.text)
            names.set_names([self.name_of(one) for one in shown])
            plot.showGrid(x=True, y=False, alpha=0.35)
            plot.getViewBox().invertY(True)
            plot.getViewBox().setMouseEnabled(x=True, y=False)
            self._ridges = self.lay(RidgeLayer(plot, self.theme))
            self._published = self.lay(MarkLayer(plot, self.theme))
        rows = self.rows_in_sight(len(shown), ROW_PX)
        marks = {one.key: self._marks(one, styles, ("p50", "p99")) for one in shown}
        columns = [_columns(one, self._height, self.log_box.isChecked()) for one in shown]
        highest = max(float(heights.max()) - floor for _, heights, floor in columns)
        self._ridges.set_ridges(
            [
                Ridge(edges, (heights - floor) / highest, styles[one.key], marks[one.key])
                for one, (edges, heights, floor) in zip(shown, columns, strict=True)
            ]
        )
        self._published.set_marks(published)
        head = 0.5 if published else 0.0
        self.plots[0].setYRange(rows[0] - 0.5 - head, rows[-1] + 0.52, padding=0)
        if self.follows:
            self._show_times(shown)
        return [mark for row in rows for mark in marks[shown[row].key]]

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

    def _renewed(self, shown: Sequence[Series], stacked: bool) -> bool:
        """Whether the plot is to be made anew: other series or another layout are to be drawn."""
        log, part = self.log_box.isChecked(), self.part_choice.part
        told = [(one.key, self.name_of(one)) for one in shown]
        return self.renew(stacked, log, self._is_density, part, told)

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
        edges = [_LOG_EDGES[occupied[0]], _LOG_EDGES[occupied[-1] + 1]]
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


def _columns(
    series: Series, height: Callable[[Series], np.ndarray], log: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """log10 edges [n + 1] and heights [n] of the occupied bins, and where a height begins."""
    heights = height(series)
    occupied = np.nonzero(series.counts)[0]
    first, last = occupied[0], occupied[-1] + 1
    floor = 0.0
    if log:
        lowest = _FLOOR * heights.sum() / series.counts.sum()
        heights = np.log10(np.maximum(heights, lowest))
        floor = math.log10(lowest)
    return _LOG_EDGES[first : last + 1], heights[first:last], floor


class _Panel:
    """The plot of all outlines, kept from frame to frame."""

    def __init__(self, plot: pg.PlotItem, marks: MarkLayer) -> None:
        self._plot, self._marks = plot, marks
        self._outlines: dict[str, OutlineLayer] = {}
        self._bottom, self._top = 0.0, 1.0

    def draw(
        self,
        group: Sequence[tuple[Series, SeriesStyle]],
        marks: Sequence[Mark],
        height: Callable[[Series], np.ndarray],
        log: bool,
    ) -> None:
        tops, bottoms = [], []
        for one, style in group:
            edges, heights, floor = _columns(one, height, log)
            outline = self._outlines.get(one.key)
            if outline is None:
                outline = self._outlines[one.key] = OutlineLayer(self._plot, style)
            outline.set_style(style, filled=len(group) <= MOST_FILLED)
            outline.set_columns(edges, heights, floor)
            tops.append(float(heights.max()))
            bottoms.append(floor)
        self._top, self._bottom = max(tops), min(bottoms)
        self._marks.set_marks(marks)

    def show_all(self) -> None:
        room = (self._top - self._bottom) * HEADROOM / (1.0 - HEADROOM)
        self._plot.setYRange(self._bottom, self._top + room, padding=0)
