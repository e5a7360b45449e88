"""Readers of curves and timelines: the point of a distribution, the sample under the pointer."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtGui import QColor

from app.analysis.plot_data.series import Part
from app.cases.round import FIRST_OF_SHAPE, MEASURED, WARMUP
from app.formatting.text import interval as interval_text
from app.formatting.text import time_text
from app.gui.plots.read.reading import Brush, Line, Place, Reading, Span
from app.gui.plots.read.readout import rank_text, short_names
from app.stats.option_search.ablation import round_name
from app.stats.quantiles import Interval

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


class PercentileReader:
    """Over nines: the latency that so many samples stayed below."""

    def __init__(self, curves: Sequence[DrawnCurve]) -> None:
        self._curves = tuple(curves)
        self._names = short_names([curve.label for curve in curves])

    def at(self, place: Place) -> Reading | None:
        if place.x < 0.0:
            return None
        pairs = zip(self._curves, self._names, strict=True)
        texts = [self._describe_curve(curve, name, place) for curve, name in pairs]
        slowest_first = sorted(
            zip(texts, self._curves, strict=True),
            key=lambda pair: -pair[0][1] if math.isfinite(pair[0][1]) else math.inf,
        )
        lines = tuple(Line(text, curve.color) for (text, _), curve in slowest_first)
        heights = [height for _, height in texts]
        nearest = _nearest(self._curves, heights, place)
        title = f"p{rank_text(1.0 - 10.0**-place.x).removesuffix(' %')}"
        if nearest is None:
            return Reading(title, lines, place.x)
        brush = Brush("latency", low_s=10.0 ** nearest[1], keys=(nearest[0].key,))
        return Reading(title, lines, place.x, nearest[1], (nearest[0].key,), brush)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        distances = [(x - place.x) * right for x in _STOPS if (x - place.x) * right > 1e-6]
        if not distances:
            return None
        x = place.x + right * min(distances)
        return (x, self._curves[0].height(x)) if x <= self._curves[0].x[-1] + 0.5 else None

    @staticmethod
    def _describe_curve(curve: DrawnCurve, text: str, place: Place) -> tuple[str, float]:
        for x, name, seconds, interval in curve.known:
            if abs(x - place.x) / place.pixel[0] <= _NEAR_PX / 2.0:
                line_text = f"{text}: {name} {time_text(seconds, 4)}"
                if interval:
                    line_text += (
                        f" (95 %: {interval_text(interval.low * 1e6, interval.high * 1e6)})"
                    )
                return line_text, math.log10(seconds)
        if place.x > curve.x[-1]:
            return f"{text}: not bounded by its samples", math.inf
        height = curve.height(place.x)
        return f"{text}: pooled ~{time_text(10.0**height)}", height


def _nearest(
    curves: Sequence[DrawnCurve], heights: Sequence[float], place: Place
) -> tuple[DrawnCurve, float] | None:
    """The curve that is meant, and its height there; one alone is always meant."""
    distances = [(abs(h - place.y), k) for k, h in enumerate(heights) if math.isfinite(h)]
    if not distances:
        return None
    away, number = min(distances)
    if len(curves) > 1 and away / place.pixel[1] > _NEAR_PX:
        return None
    return curves[number], heights[number]


PHASES = {WARMUP: "warm-up", MEASURED: "measured", FIRST_OF_SHAPE: "first of its shape"}
_REACH_PX = 4.0
_HALF_NS_S = 0.5e-9
_MOST_NEAR = 200_000
"""Of more samples under the pointer only the first are looked at."""


@dataclass(frozen=True, slots=True)
class DrawnRound:
    """A round on the axis: its records, and at which second their first one starts.

    `told` says what else was recorded at a second of the axis, "" for nothing.
    """

    key: str
    label: str
    color: QColor
    number: int
    records: np.ndarray
    offset_s: float
    taken_ns: Callable[[np.ndarray], np.ndarray]
    told: Callable[[float], str]

    def index(self, at_s: float) -> int:
        """The first record that starts at this second of the axis or later."""
        starts = self.records["started_ns"]
        target_ns = int(starts[0]) + (at_s - self.offset_s) * 1e9
        return bisect_left(range(len(starts)), target_ns, key=lambda k: int(starts[k]))

    def at_s(self, index: int) -> float:
        starts = self.records["started_ns"]
        return self.offset_s + (int(starts[index]) - int(starts[0])) * 1e-9

    def places_s(self, indices: np.ndarray) -> np.ndarray:
        """Where these records lie on the axis [n]."""
        starts = self.records["started_ns"]
        first = starts[:1].sum()  # of a round whose samples are damaged there may be none
        places: np.ndarray = (starts[indices] - first) * 1e-9 + self.offset_s
        return places

    def log_s(self, index: int) -> float:
        duration_ns = float(self.taken_ns(self.records[index : index + 1])[0])
        return math.log10(max(duration_ns, 1.0) * 1e-9)


class SampleReader:
    """Iteration, round, time, latency, phase, and what was recorded beside."""

    def __init__(self, rounds: Sequence[DrawnRound], part: Part) -> None:
        self._rounds = tuple(drawn_round for drawn_round in rounds if len(drawn_round.records))
        self._part = part

    def at(self, place: Place) -> Reading | None:
        nearest = self._nearest(place)
        if nearest is None:
            return None
        drawn_round, index = nearest
        record = drawn_round.records[index]
        spent_s = 10.0 ** drawn_round.log_s(index)
        since_s = drawn_round.at_s(index) - drawn_round.offset_s
        texts = [f"{since_s:.6f} s after the round began, {PHASES[int(record['phase'])]}"]
        if index:
            last_finish_ns = int(drawn_round.records["finished_ns"][index - 1])
            gap_s = (int(record["started_ns"]) - last_finish_ns) * 1e-9
            texts.append(f"{time_text(gap_s)} after the one before" if gap_s > 0.0 else "")
        texts.append(drawn_round.told(drawn_round.at_s(index)))
        return Reading(
            f"iteration {index:,} of {round_name(drawn_round.number)}",
            (
                Line(f"{drawn_round.label}: {time_text(spent_s, 4)}", drawn_round.color),
                *(Line(text) for text in texts if text),
            ),
            drawn_round.at_s(index),
            drawn_round.log_s(index),
            (drawn_round.key,),
            Brush(self._part, spans=(Span(drawn_round.key, drawn_round.number, index, index),)),
        )

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The next sample of the same round, or the first of the next round."""
        nearest = self._nearest(place)
        if nearest is None or not right:
            return None
        drawn_round, index = nearest
        if 0 <= index + right < len(drawn_round.records):
            return drawn_round.at_s(index + right), drawn_round.log_s(index + right)
        rounds = [candidate for candidate in self._rounds if candidate.key == drawn_round.key]
        round_index = rounds.index(drawn_round) + right
        if not 0 <= round_index < len(rounds):
            return None
        drawn_round = rounds[round_index]
        index = 0 if right > 0 else len(drawn_round.records) - 1
        return drawn_round.at_s(index), drawn_round.log_s(index)

    def spans(self, low_s: float, high_s: float) -> tuple[Span, ...]:
        """The iterations that start from one second of the axis to another, both included."""
        result = []
        for drawn_round in self._rounds:
            first = drawn_round.index(low_s - _HALF_NS_S)
            last = drawn_round.index(high_s + _HALF_NS_S) - 1
            if first <= last:
                result.append(Span(drawn_round.key, drawn_round.number, first, last))
        return tuple(result)

    def _nearest(self, place: Place) -> tuple[DrawnRound, int] | None:
        """Of the samples in these few columns of pixels the one nearest to the pointer, else the
        next one before or after them."""
        reach = _REACH_PX * place.pixel[0]
        candidates: list[tuple[float, int, int]] = []
        for number, drawn_round in enumerate(self._rounds):
            first = drawn_round.index(place.x - reach)
            last = min(drawn_round.index(place.x + reach), first + _MOST_NEAR)
            if first == last:
                first, last = max(0, first - 1), min(len(drawn_round.records), last + 1)
            near_records = drawn_round.records[first:last]
            starts_s = (
                near_records["started_ns"] - drawn_round.records["started_ns"][0]
            ) * 1e-9 + drawn_round.offset_s
            high = np.log10(np.maximum(drawn_round.taken_ns(near_records), 1) * 1e-9)
            dx, dy = (starts_s - place.x) / place.pixel[0], (high - place.y) / place.pixel[1]
            away = dx * dx + dy * dy
            best = int(np.argmin(away))
            candidates.append((float(away[best]), number, first + best))
        if not candidates:
            return None
        _, number, index = min(candidates)
        return self._rounds[number], index
