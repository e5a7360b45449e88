"""Reading a histogram: the bin under the pointer, and what each case has in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtGui import QColor

from app.formatting.text import share, time_text
from app.gui.plots.read.brush import Brush
from app.gui.plots.read.grid import Grid
from app.gui.plots.read.lit import Spent
from app.gui.plots.read.reading import Line, Place, Reading
from app.gui.plots.read.told import range_text, rank_text, short_names
from app.plot_data.series import Part, Series
from app.stats.quantiles import EDGES_S, Histogram

_ON_MARK_PX = 5.0


@dataclass(frozen=True, slots=True)
class Binned:
    """Samples of one case: `counts` [n] in the bins of a grid, or in those that are there from
    the first sample on; `below` are faster than the first edge, of so many in all."""

    counts: np.ndarray
    below: int
    total: int
    grid: Grid | None = None

    @property
    def edges_s(self) -> np.ndarray:
        """Seconds [n + 1]."""
        return EDGES_S if self.grid is None else self.grid.edges_s

    def counted(self, spent: Spent) -> np.ndarray:
        """Counts [n] of other samples in the same bins."""
        if self.grid is not None:
            return self.grid.count(spent.ns, spent.log_s)[0]
        histogram = Histogram()
        histogram.add(spent.ns)
        return histogram.counts


def fixed_bins(series: Series) -> Binned:
    """The bins that follow a round while it is measured."""
    return Binned(series.counts, 0, int(series.counts.sum()))


@dataclass(frozen=True, slots=True)
class DrawnBins:
    """How a case is drawn: `tops` [n] are the heights of its bins in the plot's coordinates.

    `marks` are the seconds of its percentiles, by how they are written.
    """

    key: str
    label: str
    color: QColor
    bins: Binned
    tops: np.ndarray
    marks: tuple[tuple[str, float], ...] = ()


class BinReader:
    """Value, bin, count, share and how many are faster; all cases have the same edges."""

    def __init__(self, cases: Sequence[DrawnBins], part: Part) -> None:
        self._cases, self._part = tuple(cases), part
        self._names = short_names([case.label for case in cases])
        self._edges_s = self._cases[0].bins.edges_s if cases else np.zeros(0)

    def at(self, place: Place) -> Reading | None:
        number = self._bin_of(place.x)
        if number is None:
            return None
        low_s, high_s = float(self._edges_s[number]), float(self._edges_s[number + 1])
        title = f"{time_text(10.0**place.x, 4)} in the bin {range_text(low_s, high_s)}"
        mark = self._mark_near(place)
        pairs = zip(self._cases, self._names, strict=True)
        here = [(case, name) for case, name in pairs if case.bins.counts[number]]
        here.sort(key=lambda pair: -int(pair[0].bins.counts[number]))
        lines = [_line(case, name, number) for case, name in here]
        if mark is not None:
            case, name, seconds = mark
            lines.append(Line(f"{name} of {case.label}: {time_text(seconds, 4)}", case.color))
            opened = Brush(self._part, low_s=seconds, keys=(case.key,))
            return Reading(title, tuple(lines), place.x, None, (case.key,), opened)
        under = [case for case in self._cases if case.bins.counts[number]]
        over = [case for case in under if case.tops[number] >= place.y]
        meant = min(over, key=lambda case: float(case.tops[number])) if over else None
        keys = (meant.key,) if meant else ()
        opened = Brush(self._part, low_s, high_s, keys=keys)
        return Reading(title, tuple(lines), place.x, None, keys, opened if under else None)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The middle of the next bin in which any case has a sample."""
        number = self._bin_of(place.x)
        if number is None or not right:
            return None
        occupied = np.flatnonzero(np.sum([case.bins.counts for case in self._cases], axis=0))
        ahead = occupied[occupied > number] if right > 0 else occupied[occupied < number][::-1]
        if not len(ahead):
            return None
        low_s, high_s = self._edges_s[ahead[0]], self._edges_s[ahead[0] + 1]
        return math.log10(math.sqrt(low_s * high_s)), place.y

    def _bin_of(self, x: float) -> int | None:
        if not len(self._edges_s) or not -20.0 < x < 20.0:
            return None
        number = int(np.searchsorted(self._edges_s, 10.0**x, side="right")) - 1
        return number if 0 <= number < len(self._edges_s) - 1 else None

    def _mark_near(self, place: Place) -> tuple[DrawnBins, str, float] | None:
        known = [
            (abs(math.log10(seconds) - place.x) / place.pixel[0], case, name, seconds)
            for case in self._cases
            for name, seconds in case.marks
        ]
        nearest = min(known, key=lambda found: found[0], default=None)
        return nearest[1:] if nearest and nearest[0] <= _ON_MARK_PX else None


def _line(case: DrawnBins, name: str, number: int) -> Line:
    bins = case.bins
    count = int(bins.counts[number])
    faster = (bins.below + int(bins.counts[:number].sum())) / max(1, bins.total)
    told = f"{count:,} samples" if count != 1 else "1 sample"
    part = f", {share(count / bins.total)}" if count else ""
    return Line(f"{name}: {told}{part}, slower than {rank_text(faster)}", case.color)
