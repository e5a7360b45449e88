"""The histogram in rows: one for each series, with what is lit of it and its marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg

from app.gui.plots.behind import Behind
from app.gui.plots.histogram_panel import NO_COUNTS, heights_of, occupied
from app.gui.plots.marks import Mark, MarkLayer, percentiles
from app.gui.plots.read.bins import Binned, BinReader, DrawnBins
from app.gui.plots.read.cross import BandLayer
from app.gui.plots.read.lit import Spent
from app.gui.plots.read.reading import Place, Reading
from app.gui.plots.ridges import Ridge, RidgeLayer
from app.gui.plots.style import LitStyle, SeriesStyle
from app.plot_data.series import Part, Series


class RowPanel:
    """A row for each series, of which some are in sight; all rows to one scale."""

    def __init__(
        self, plot: pg.PlotItem, ridges: RidgeLayer, published: MarkLayer, band: BandLayer
    ) -> None:
        plot.showGrid(x=True, y=False, alpha=0.35)
        plot.getViewBox().invertY(True)
        plot.getViewBox().setMouseEnabled(x=True, y=False)
        self.plot, self.ridges, self._published, self._band = plot, ridges, published, band
        self._drawn: list[DrawnBins] = []
        self._unit: Callable[[Binned], float] = lambda _: 1.0
        self._highest = 1.0

    def draw(
        self,
        shown: Sequence[Series],
        grey: Sequence[Behind],
        binned: Mapping[str, Binned],
        styles: Mapping[str, SeriesStyle],
        marks: Mapping[str, Sequence[Mark]],
        unit: Callable[[Binned], float],
        log: bool,
    ) -> list[DrawnBins]:
        """The highest column of all fills its row."""
        keys = [*(one.key for one in shown), *(one.series.key for one in grey)]
        raised = {key: _raised(binned[key], binned[key].counts, unit, log) for key in keys}
        self._highest = max(float(heights.max(initial=0.0)) for heights in raised.values()) or 1.0
        self._unit = unit

        def ridge(key: str, style: SeriesStyle, outlines: Sequence[Ridge] = ()) -> Ridge:
            edges, heights = occupied(binned[key], binned[key].counts, raised[key] / self._highest)
            return Ridge(edges, heights, style, marks.get(key, ()), outlines)

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
        self._drawn = [
            DrawnBins(
                one.key,
                one.label,
                styles[one.key].color,
                binned[one.key],
                raised[one.key],
                tuple((p.label, p.seconds) for p in percentiles(one)),
            )
            for one in shown
        ]
        return self._drawn

    def draw_lit(
        self,
        lit: Mapping[str, Spent],
        band: tuple[float, float] | None,
        *,
        log: bool,
    ) -> None:
        """Fill what is lit of each row, and shade the range that was marked."""
        self._band.set_band(band)
        ridges = []
        for ridge, drawn in zip(self.ridges.ridges, self._drawn, strict=True):
            spent = lit.get(drawn.key)
            counts = drawn.bins.counted(spent) if spent is not None else NO_COUNTS
            heights = _raised(drawn.bins, counts, self._unit, log) / self._highest
            edges, heights = occupied(drawn.bins, counts, heights)
            marked = Ridge(edges, heights, LitStyle(drawn.color, False))
            ridges.append(replace(ridge, lit=marked if len(heights) else None))
        self.ridges.set_ridges(ridges)

    def show_rows(self, rows: range, published: Sequence[Mark]) -> None:
        """Have these in sight, with room above them for what is published."""
        self._published.set_marks(published)
        head = 0.5 if published else 0.0
        self.plot.setYRange(rows[0] - 0.5 - head, rows[-1] + 0.52, padding=0)


class RowReader:
    """The bin under the pointer, of the case in whose row it is."""

    def __init__(self, cases: Sequence[DrawnBins], part: Part) -> None:
        self._rows = [BinReader([case], part) for case in cases]

    def at(self, place: Place) -> Reading | None:
        row = round(place.y)
        if not 0 <= row < len(self._rows):
            return None
        on_floor = Place(place.x, float("-inf"), place.pixel)
        return self._rows[row].at(on_floor)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The next bin with a sample in it, or the next row."""
        row = min(max(0, round(place.y) - up), len(self._rows) - 1)
        if up:
            return (place.x, float(row)) if row != round(place.y) else None
        found = self._rows[row].beyond(place, right, 0)
        return (found[0], float(row)) if found else None


def _raised(
    bins: Binned, counts: np.ndarray, unit: Callable[[Binned], float], log: bool
) -> np.ndarray:
    """Heights [n] of all columns over the floor of their row."""
    heights, floor = heights_of(counts, unit(bins), log=log)
    return heights - floor
