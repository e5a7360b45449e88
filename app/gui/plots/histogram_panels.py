"""What a histogram is drawn into: one plot of outlines, or one of rows; kept between frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyqtgraph as pg

from app.gui.plots.behind import Behind
from app.gui.plots.marks import HEADROOM, Mark, MarkLayer
from app.gui.plots.outline import OutlineLayer
from app.gui.plots.ridges import Ridge, RidgeLayer
from app.gui.plots.style import SeriesStyle
from app.results.series import Series
from app.stats.histogram import EDGES_S

LOG_EDGES = np.log10(EDGES_S)
MOST_FILLED = 3
"""More fills over each other than so many mix to mud."""
_FLOOR = 0.5
"""Where a log axis begins: below one sample, so that a single sample is seen."""
Height = Callable[[Series], np.ndarray]


def _columns(series: Series, height: Height, log: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """log10 edges [n + 1] and heights [n] of the occupied bins, and where a height begins."""
    heights = height(series)
    occupied = np.nonzero(series.counts)[0]
    first, last = occupied[0], occupied[-1] + 1
    floor = 0.0
    if log:
        lowest = _FLOOR * heights.sum() / series.counts.sum()
        heights = np.log10(np.maximum(heights, lowest))
        floor = math.log10(lowest)
    return LOG_EDGES[first : last + 1], heights[first:last], floor


class OutlinePanel:
    """All outlines in one plot, those of baselines behind."""

    def __init__(self, plot: pg.PlotItem, marks: MarkLayer) -> None:
        self._plot, self.marks = plot, marks
        self.outlines: dict[str, OutlineLayer] = {}
        self._bottom, self._top = 0.0, 1.0

    def draw(
        self,
        shown: Sequence[Series],
        grey: Sequence[Behind],
        styles: Mapping[str, SeriesStyle],
        marks: Sequence[Mark],
        height: Height,
        log: bool,
    ) -> None:
        filled = len(shown) <= MOST_FILLED
        ends = [self._draw_one(one.series, one.style, height, log, False) for one in grey]
        ends += [self._draw_one(one, styles[one.key], height, log, filled) for one in shown]
        self._top, self._bottom = max(top for top, _ in ends), min(bottom for _, bottom in ends)
        self.marks.set_marks(marks)

    def _draw_one(
        self, one: Series, style: SeriesStyle, height: Height, log: bool, filled: bool
    ) -> tuple[float, float]:
        """The outline as it is now; its top and its floor."""
        edges, heights, floor = _columns(one, height, log)
        outline = self.outlines.get(one.key)
        if outline is None:
            outline = self.outlines[one.key] = OutlineLayer(self._plot, style)
        outline.set_style(style, filled=filled)
        outline.set_columns(edges, heights, floor)
        return float(heights.max()), floor

    def show_all(self) -> None:
        room = (self._top - self._bottom) * HEADROOM / (1.0 - HEADROOM)
        self._plot.setYRange(self._bottom, self._top + room, padding=0)


class RowPanel:
    """A row for each series, of which some are in sight."""

    def __init__(self, plot: pg.PlotItem, ridges: RidgeLayer, published: MarkLayer) -> None:
        plot.showGrid(x=True, y=False, alpha=0.35)
        plot.getViewBox().invertY(True)
        plot.getViewBox().setMouseEnabled(x=True, y=False)
        self._plot, self.ridges, self._published = plot, ridges, published

    def draw(
        self,
        shown: Sequence[Series],
        grey: Sequence[Behind],
        styles: Mapping[str, SeriesStyle],
        marks: Mapping[str, Sequence[Mark]],
        height: Height,
        log: bool,
    ) -> None:
        """All rows to one scale, so that the highest column of all fills its row."""
        every = [*shown, *(one.series for one in grey)]
        columns = {one.key: _columns(one, height, log) for one in every}
        highest = max(float(heights.max()) - floor for _, heights, floor in columns.values())

        def ridge(key: str, style: SeriesStyle, outlines: Sequence[Ridge] = ()) -> Ridge:
            edges, heights, floor = columns[key]
            return Ridge(edges, (heights - floor) / highest, style, marks.get(key, ()), outlines)

        self.ridges.set_ridges(
            [
                ridge(
                    one.key,
                    styles[one.key],
                    [ridge(g.series.key, g.style) for g in grey if g.key == one.key],
                )
                for one in shown
            ]
        )

    def show_rows(self, rows: range, published: Sequence[Mark]) -> None:
        """Have these in sight, with room above them for what is published."""
        self._published.set_marks(published)
        head = 0.5 if published else 0.0
        self._plot.setYRange(rows[0] - 0.5 - head, rows[-1] + 0.52, padding=0)
