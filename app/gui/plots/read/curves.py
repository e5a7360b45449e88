"""Reading curves of a distribution: shares over a latency, and latencies over a percentile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtGui import QColor

from app.formatting.text import interval as interval_text
from app.formatting.text import time_text
from app.gui.plots.read.brush import Brush
from app.gui.plots.read.reading import Line, Place, Reading
from app.gui.plots.read.told import rank_text, short_names
from app.plot_data.series import Part
from app.stats.quantiles import BINS_PER_DECADE, Interval

_NEAR_PX = 12.0
_TICKS = [m * 10.0**-k for k in range(1, 10) for m in range(9, 0, -1)]
_STOPS = np.array([0.0, *(-math.log10(tick) for tick in _TICKS), math.log10(2.0)])
"""Where the arrow keys stop on an axis of nines: 0, 10 … 90, 91 … 99, 99.1 %."""


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """A case's curve through `x` [n] and `y` [n], in the plot's coordinates, `x` rising.

    `known` are percentiles that came from raw samples: where they lie on the axis of nines,
    their name, seconds and interval.
    """

    key: str
    label: str
    color: QColor
    x: np.ndarray
    y: np.ndarray
    known: tuple[tuple[float, str, float, Interval | None], ...] = ()

    def height(self, x: float) -> float:
        return float(np.interp(x, self.x, self.y))


class CumulativeReader:
    """Over log10 seconds: what share of each case is at most so slow."""

    def __init__(self, curves: Sequence[DrawnCurve], part: Part) -> None:
        self._curves, self._part = tuple(curves), part
        self._names = short_names([curve.label for curve in curves])

    def at(self, place: Place) -> Reading | None:
        heights = [curve.height(place.x) for curve in self._curves]
        here = sorted(zip(self._curves, self._names, heights, strict=True), key=lambda one: -one[2])
        lines = tuple(
            Line(f"{name}: {rank_text(percent / 100.0)} at most so slow", curve.color)
            for curve, name, percent in here
        )
        meant = _nearest(self._curves, heights, place)
        seconds, keys = 10.0**place.x, (meant[0].key,) if meant else ()
        opened = Brush(self._part, low_s=seconds, keys=keys) if meant else None
        height = meant[1] if meant else None
        return Reading(time_text(seconds, 4), lines, place.x, height, keys, opened)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The next edge of the bins that the curves are made of."""
        if not right:
            return None
        edge = place.x * BINS_PER_DECADE
        step = math.floor(edge + 1e-6) + 1 if right > 0 else math.ceil(edge - 1e-6) - 1
        x = step / BINS_PER_DECADE
        return x, self._curves[0].height(x)


class PercentileReader:
    """Over nines: the latency that so many samples stayed below."""

    def __init__(self, curves: Sequence[DrawnCurve]) -> None:
        self._curves = tuple(curves)
        self._names = short_names([curve.label for curve in curves])

    def at(self, place: Place) -> Reading | None:
        if place.x < 0.0:
            return None
        pairs = zip(self._curves, self._names, strict=True)
        told = [self._told(curve, name, place) for curve, name in pairs]
        slowest_first = sorted(
            zip(told, self._curves, strict=True),
            key=lambda one: -one[0][1] if math.isfinite(one[0][1]) else math.inf,
        )
        lines = tuple(Line(text, curve.color) for (text, _), curve in slowest_first)
        heights = [height for _, height in told]
        meant = _nearest(self._curves, heights, place)
        title = f"p{rank_text(1.0 - 10.0**-place.x).removesuffix(' %')}"
        if meant is None:
            return Reading(title, lines, place.x)
        opened = Brush("latency", low_s=10.0 ** meant[1], keys=(meant[0].key,))
        return Reading(title, lines, place.x, meant[1], (meant[0].key,), opened)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        ahead = [(x - place.x) * right for x in _STOPS if (x - place.x) * right > 1e-6]
        if not ahead:
            return None
        x = place.x + right * min(ahead)
        return (x, self._curves[0].height(x)) if x <= self._curves[0].x[-1] + 0.5 else None

    @staticmethod
    def _told(curve: DrawnCurve, called: str, place: Place) -> tuple[str, float]:
        for x, name, seconds, interval in curve.known:
            if abs(x - place.x) / place.pixel[0] <= _NEAR_PX / 2.0:
                told = f"{called}: {name} {time_text(seconds, 4)}"
                if interval:
                    told += f" (95 %: {interval_text(interval.low * 1e6, interval.high * 1e6)})"
                return told, math.log10(seconds)
        if place.x > curve.x[-1]:
            return f"{called}: not bounded by its samples", math.inf
        height = curve.height(place.x)
        return f"{called}: pooled ~{time_text(10.0**height)}", height


def _nearest(
    curves: Sequence[DrawnCurve], heights: Sequence[float], place: Place
) -> tuple[DrawnCurve, float] | None:
    """The curve that is meant, and its height there; one alone is always meant."""
    known = [(abs(h - place.y), k) for k, h in enumerate(heights) if math.isfinite(h)]
    if not known:
        return None
    away, number = min(known)
    if len(curves) > 1 and away / place.pixel[1] > _NEAR_PX:
        return None
    return curves[number], heights[number]
