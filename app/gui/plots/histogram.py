"""The latency histogram, live: an outline per series over a logarithmic time axis, or a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from app.analysis.plot_data.series import Series
from app.formatting.text import counted
from app.gui.look.controls import Choice, Switch
from app.gui.look.overlay import plot_font
from app.gui.look.text import Table, shorter
from app.gui.plots.axes import NamesAxis, count_axis, share_axis, time_axis
from app.gui.plots.histogram_panels import (
    MOST_FILLED,
    ROW_PX,
    HistogramPanel,
    RowReader,
)
from app.gui.plots.marks import Mark, MarkLayer, mark_entries, percentile_marks, published_marks
from app.gui.plots.read.bins import (
    NAMES,
    Binned,
    BinReader,
    FineBins,
    PartBins,
    PartChoice,
    Seen,
    since_when,
    without_samples,
)
from app.gui.plots.read.reading import Brush
from app.gui.plots.scrolled import RowsView
from app.gui.plots.style import (
    Behind,
    SeriesStyle,
    behind,
    behind_entries,
    clocks_text,
    series_entries,
)
from app.stats.quantiles import EDGES_S

_LOG_EDGES = np.log10(EDGES_S)
_ALL_NAMES = ("p50", "p90", "p99", "p99.9")
_NAME_PX = 150.0
"""What a name may take before a percentile."""
_MOST_TOLD = 8
"""Of more series over each other marks have no texts: they would hide what they stand beside, and
the list tells the figures."""


class HistogramView(RowsView):
    """Counts or densities, overlaid or one below another, with percentiles marked."""

    title = "Histogram"
    hint = "How often each latency occurred. Both axes are logarithmic, so that tails are seen."
    tells_apart = True
    panel: HistogramPanel
    mark_layer: MarkLayer

    def __init__(self, parent: QWidget | None = None) -> None:
        self._parts = PartBins()
        self._brief_names: dict[str, str] = {}
        super().__init__(parent)
        self._fine = FineBins(self)
        self._fine.ready.connect(self.mark_dirty)
        self.layout_choice = Choice(
            "Layout",
            {"": "As many fit", "overlaid": "Overlaid", "stacked": "One below another"},
            "Draw all series over each other, or each in a row of its own over the same axis. "
            f"“As many fit”: rows from {_MOST_TOLD + 1} series on.",
        )
        self.height_choice = Choice(
            "Height",
            {"counts": "Counts", "density": "Density"},
            "Counts: samples in a bin. Density: their share of the series' samples, so that "
            "series of different length compare. The heading shows how wide a bin is; until the "
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

    def draw(self) -> str:
        self.part_choice.offer(self.series)
        series = self._select_series()
        if not series:
            return without_samples(
                self.series, "No samples yet. The histogram appears with the first measured block."
            )
        styles = self.styles()
        wide = QFontMetricsF(plot_font(-1.0)).horizontalAdvance
        brief = shorter([self.name_of(case_series) for case_series in series], _NAME_PX, wide)
        self._brief_names = dict(
            zip((case_series.key for case_series in series), brief, strict=True)
        )
        figure_marks = published_marks(series, self.theme) if self.published_box.isChecked() else []
        grey = self._grey(series, each=self._is_stacked(len(series)))
        marks = self._draw_columns(series, grey, styles, figure_marks)
        self.show_legend(
            [
                *series_entries(series, self.name_of, styles, filled=True),
                *behind_entries(grey),
                *mark_entries([*marks, *figure_marks], self.theme),
            ]
        )
        total = sum(int(case_series.counts.sum()) for case_series in series)
        part = self.part_choice.part
        samples = counted(total, "sample")
        notes = filter(
            None, (clocks_text(series), since_when(series, part), samples, self._bins_text)
        )
        self.show_heading(f"{NAMES[part]} histogram", ", ".join(notes))
        return ""

    def _draw_columns(
        self,
        series: Sequence[Series],
        grey: Sequence[Behind],
        styles: dict[str, SeriesStyle],
        figure_marks: Sequence[Mark],
    ) -> list[Mark]:
        """All into one plot, over each other or each into a row; the marks of those in sight."""
        in_rows, every = self._is_stacked(len(series)), [*series, *(g.series for g in grey)]
        if self._renewed(series, grey):
            self.panel = self._add_panel(series)
            self.mark_layer = self.lay(MarkLayer(self.panel.plot, self.theme))
        panel = self.panel
        if self.follows:
            self._show_range(every)
        panel.draw(series, grey, self._bin_series(every), styles, self.name_of)
        names = ("p50", "p99") if in_rows or len(series) > MOST_FILLED else _ALL_NAMES
        has_names = len(series) > 1 and not in_rows
        marks = [self._marks(item, styles, names, has_names) for item in series]
        sight = self.rows_in_sight(len(series), ROW_PX if in_rows else 0)
        marks_in_sight = [mark for row in sight for mark in marks[row]]
        if in_rows:
            self.mark_layer.set_marks(figure_marks, marks)
            head = 0.5 if figure_marks else 0.0  # for what is published
            panel.plot.setYRange(sight[0] - 0.5 - head, sight[-1] + 0.52, padding=0)
        else:
            self.mark_layer.set_marks([*marks_in_sight, *figure_marks])
            if self.follows:
                panel.show_all()
        reader = RowReader if in_rows else BinReader
        self.let_read(panel.plot, reader(panel.drawn, self.part_choice.part))
        return marks_in_sight

    def _marks(
        self,
        case_series: Series,
        styles: dict[str, SeriesStyle],
        names: Sequence[str],
        named: bool = False,
    ) -> list[Mark]:
        if not self.marks_box.isChecked():
            return []
        brief_name = self._brief_names[case_series.key] if named else ""
        marks = percentile_marks(case_series, styles[case_series.key].color, names, brief_name)
        has_text = not named or len(self.series) <= _MOST_TOLD
        return marks if has_text else [replace(mark, text="") for mark in marks]

    def _grey(self, series: Sequence[Series], *, each: bool = False) -> list[Behind]:
        """The baselines, with the bins of the part that is asked for."""
        background = behind(series, self.arrangement, self.theme, each=each)
        part_series = self._parts.of([item.series for item in background], self.part_choice.part)
        by_key = {item.key: item for item in part_series}
        return [
            replace(g, series=by_key[g.series.key]) for g in background if g.series.key in by_key
        ]

    def _select_series(self) -> list[Series]:
        """The series that have samples, with the bins of the part that is asked for."""
        return self._parts.of(self.series, self.part_choice.part)

    def _unit(self, bins: Binned) -> float:
        """How high one sample is."""
        return 1.0 / bins.total if self._is_density else 1.0

    def _is_stacked(self, series: int) -> bool:
        layout = self.layout_choice.value
        return layout == "stacked" or (not layout and series > _MOST_TOLD)

    @property
    def _is_density(self) -> bool:
        return self.height_choice.value == "density"

    def draw_lit(self) -> None:
        part = self.part_choice.part
        lit_durations = {s.key: self.lit.spent(s, part) for s in self.series} if self.lit else {}
        band = self.lit.brush.log_ends(part) if self.lit else None
        if self.plots:
            self.panel.draw_lit(lit_durations, band)

    def brush_between(self, plot: pg.PlotItem, low: float, high: float) -> Brush | None:
        return Brush(self.part_choice.part, 10.0**low, 10.0**high)

    def _renewed(self, series: Sequence[Series], grey: Sequence[Behind]) -> bool:
        """Whether the plot is to be made anew: other series or another layout are to be drawn."""
        how = (self._is_stacked(len(series)), self.log_box.isChecked(), self._is_density)
        names = [(item.key, self.name_of(item)) for item in series]
        return self.renew(*how, self.part_choice.part, names, [item.series.key for item in grey])

    def _add_panel(self, series: Sequence[Series]) -> HistogramPanel:
        """The one plot: a plain height has a plain axis, and rows have one title for all."""
        in_rows, log = self._is_stacked(len(series)), self.log_box.isChecked()
        names = NamesAxis()
        left = names if in_rows else (share_axis if self._is_density else count_axis)("left")
        unit = "Share" if self._is_density else "Samples"
        scale = f", {'logarithmic, ' if log else ''}all rows to one scale" if in_rows else ""
        plot = self.add_plot(
            0,
            0,
            time_axis("bottom"),
            left if log or in_rows else None,
            x_label=NAMES[self.part_choice.part],
            y_label=f"{unit} in a bin{scale}",
        )
        if in_rows:
            names.setTextPen(self.theme.text)
            names.set_names([self.name_of(item) for item in series], titled=True)
        else:
            plot.getAxis("left").setWidth(72)
        plot.getViewBox().sigXRangeChanged.connect(self._on_zoom)
        return HistogramPanel(plot, self.theme, in_rows=in_rows, log=log, unit=self._unit)

    def _on_zoom(self, *_: object) -> None:
        """Another range is looked at: finer or coarser bins for it at the next refresh."""
        if not self.follows:
            self.mark_dirty()

    def _show_range(self, series: Sequence[Series]) -> None:
        indices = np.nonzero(np.sum([case_series.counts for case_series in series], axis=0))[0]
        edges = [_LOG_EDGES[indices[0]], _LOG_EDGES[indices[-1] + 1]]
        if self.published_box.isChecked():
            edges += [
                math.log10(f.value_us * 1e-6)
                for case_series in series
                for f in case_series.published
            ]
        low, high = min(edges), max(edges)
        margin = max(0.02, 0.03 * (high - low))
        self.plots[0].setXRange(low - margin, high + margin, padding=0)

    def _bin_series(self, every: Sequence[Series]) -> Mapping[str, Binned]:
        """The bins of each case: as fine as what is seen allows once these have been found."""
        (low, high), _ = self.plots[0].viewRange()
        width_px = self.plots[0].getViewBox().sceneBoundingRect().width()
        view = Seen(tuple(every), self.part_choice.part, low, high, width_px)
        bins_by_key = self._fine.of(view)
        self._bins_text = ""
        if bins_by_key is None:
            # The bins that follow a round while it is measured.
            return {item.key: Binned(item.counts, 0, int(item.counts.sum())) for item in every}
        grid = next(iter(bins_by_key.values())).grid
        self._bins_text = f"bins {grid.text}" if grid else ""
        return bins_by_key

    def table(self) -> Table:
        rows: list[list[object]] = []
        for case_series in self._select_series():
            share = case_series.counts / max(1, int(case_series.counts.sum()))
            rows += [
                [
                    case_series.label,
                    case_series.clock,
                    float(EDGES_S[k] * 1e6),
                    float(EDGES_S[k + 1] * 1e6),
                    int(case_series.counts[k]),
                    float(share[k]),
                ]
                for k in np.nonzero(case_series.counts)[0]
            ]
        ends = ["from_us", "to_us"]
        if self.part_choice.part != "latency":
            ends = [f"{self.part_choice.part}_{end}" for end in ends]
        return ["series", "clock", *ends, "samples", "share"], rows
