"""One plot of the histogram: its outlines, what is lit of them, and its marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyqtgraph as pg

from app.gui.plots.behind import Behind
from app.gui.plots.marks import HEADROOM, Mark, MarkLayer, percentiles
from app.gui.plots.outline import OutlineLayer
from app.gui.plots.read.bins import Binned, DrawnBins
from app.gui.plots.read.cross import BandLayer
from app.gui.plots.read.lit import Spent
from app.gui.plots.style import LitStyle, SeriesStyle
from app.plot_data.series import Series

_FLOOR = 0.5
"""Where a log axis begins: below one sample, so that a single sample is seen."""
NO_COUNTS = np.empty(0, np.int64)
MOST_FILLED = 3
"""More fills over each other than so many mix to mud."""


class HistogramPanel:
    """One plot with its outlines, those of baselines behind; kept from frame to frame."""

    def __init__(self, plot: pg.PlotItem, marks: MarkLayer, band: BandLayer) -> None:
        self.plot, self.marks, self._band = plot, marks, band
        self.outlines: dict[str, OutlineLayer] = {}
        self._lit: dict[str, OutlineLayer] = {}
        self._drawn: list[DrawnBins] = []
        self._unit: Callable[[Binned], float] = lambda _: 1.0
        self._bottom, self._top = 0.0, 1.0

    def draw(
        self,
        shown: Sequence[Series],
        grey: Sequence[Behind],
        binned: Mapping[str, Binned],
        styles: Mapping[str, SeriesStyle],
        marks: Sequence[Mark],
        unit: Callable[[Binned], float],
        log: bool,
    ) -> list[DrawnBins]:
        tops, bottoms, drawn = [], [], []
        looks = [(one.series, one.style, False) for one in grey]
        looks += [(one, styles[one.key], len(shown) <= MOST_FILLED) for one in shown]
        for one, style, filled in looks:
            bins = binned[one.key]
            heights, floor = heights_of(bins.counts, unit(bins), log=log)
            edges, columns = occupied(bins, bins.counts, heights)
            self._outline(one.key, style, filled).set_columns(edges, columns, floor)
            told = tuple((p.label, p.seconds) for p in percentiles(one))
            drawn.append(DrawnBins(one.key, one.label, style.color, bins, heights, told))
            tops.append(float(heights.max(initial=floor)))
            bottoms.append(floor)
        self._top, self._bottom = max(tops), min(bottoms)
        self.marks.set_marks(marks)
        self._drawn, self._unit = drawn[len(grey) :], unit
        return self._drawn

    def draw_lit(
        self,
        lit: Mapping[str, Spent],
        band: tuple[float, float] | None,
        *,
        log: bool,
    ) -> None:
        """Fill what is lit of each outline, and shade the range that was marked."""
        self._band.set_band(band)
        for layer in self._lit.values():
            layer.setVisible(False)
        for drawn in self._drawn:
            spent = lit.get(drawn.key)
            counts = drawn.bins.counted(spent) if spent is not None else NO_COUNTS
            heights, floor = heights_of(counts, self._unit(drawn.bins), log=log)
            edges, columns = occupied(drawn.bins, counts, heights)
            if not len(columns):
                continue
            if drawn.key not in self._lit:
                self._lit[drawn.key] = OutlineLayer(self.plot, LitStyle(drawn.color, False))
                self._lit[drawn.key].setZValue(12)
            layer = self._lit[drawn.key]
            layer.set_style(LitStyle(drawn.color, False))
            layer.set_columns(edges, columns, floor)
            layer.setVisible(True)

    def _outline(self, key: str, style: SeriesStyle, filled: bool) -> OutlineLayer:
        if key not in self.outlines:
            self.outlines[key] = OutlineLayer(self.plot, style)
        self.outlines[key].set_style(style, filled=filled)
        return self.outlines[key]

    def show_all(self) -> None:
        room = (self._top - self._bottom) * HEADROOM / (1.0 - HEADROOM)
        self.plot.setYRange(self._bottom, self._top + room, padding=0)


def heights_of(counts: np.ndarray, unit: float, *, log: bool) -> tuple[np.ndarray, float]:
    """How high columns are drawn, and where they begin; `unit` is the height of one sample."""
    if not log:
        return counts * unit, 0.0
    lowest = _FLOOR * unit
    return np.log10(np.maximum(counts * unit, lowest)), math.log10(lowest)


def occupied(
    bins: Binned, counts: np.ndarray, heights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log10 edges and heights from the first bin with any of `counts` in it to the last."""
    there = np.nonzero(counts)[0]
    first, last = (there[0], there[-1] + 1) if len(there) else (0, 0)
    return np.log10(bins.edges_s[first : last + 1]), heights[first:last]
