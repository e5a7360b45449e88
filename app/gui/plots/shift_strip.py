"""Below the histogram: each series over the first baseline, quantile by quantile, with its band.

Where a curve is above the line, that part of the distribution has become slower.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.cases.round import MEASURED
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme
from app.gui.plots.axes import SolidAxis, time_axis
from app.gui.plots.base import PlotView
from app.gui.plots.style import SeriesStyle
from app.plot_data.series import Baseline, Part, Series, part_ns
from app.stats.verdict import Shift, round_quantiles, shifts

STRIP_PX = 104
_LONGEST_S = 0.04
"""So long is read in one go: the rest waits for the next beat."""
_LEAST_REACH = math.log10(1.02)


class RoundQuantiles:
    """The quantiles of rounds, each read once; `complete` says whether all were read that were
    asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, Part], np.ndarray] = {}
        self._deadline_s = 0.0
        self.complete = True

    def begin(self) -> None:
        """Read for as long as a frame may take."""
        self._deadline_s = time.monotonic() + _LONGEST_S
        self.complete = True

    def of(self, series: Series, part: Part) -> Mapping[int, np.ndarray]:
        """By the number of the round, of those that were timed to their end."""
        numbers = series.timed if len(series.timed) <= len(series.rounds) else ()
        quantiles = {}
        for number, records in zip(numbers, series.rounds, strict=False):
            key = (series.key, number, len(records), part)
            if key not in self._known:
                if time.monotonic() > self._deadline_s:
                    self.complete = False
                    continue
                self._known[key] = round_quantiles(_select_measured(records, series, part))
            quantiles[number] = self._known[key]
        return quantiles

    def shifts(self, first: Series, second: Series, part: Part, in_turn: bool) -> list[Shift]:
        """Second over first; nothing until all rounds of both were read."""
        sides = self.of(first, part), self.of(second, part)
        return shifts(*sides, in_turn) if self.complete else []


class ShiftStrip:
    """A plot below another, over the same time axis."""

    def __init__(self, view: PlotView, plot_item: pg.PlotItem, text: str) -> None:
        self._axis = SolidAxis("left")
        self.plot = view.add_plot(1, 0, time_axis("bottom"), self._axis, y_label="Ratio")
        self.plot.getAxis("bottom").setStyle(showValues=False)
        self.plot.setXLink(plot_item)
        self.plot.setMaximumHeight(STRIP_PX)
        self.plot.setMinimumHeight(STRIP_PX)
        self.plot.getViewBox().setMouseEnabled(x=True, y=False)
        self._axis.setWidth(72)
        self.layer = view.lay(ShiftLayer(self.plot, text, view.theme))

    def draw(
        self,
        series: Sequence[tuple[Series, SeriesStyle]],
        baseline: Baseline,
        part: Part,
        read: RoundQuantiles,
    ) -> None:
        """Each series over what the baseline has beside it."""
        read.begin()
        self.layer.set_moved(
            [
                Moved(read.shifts(counterpart, case_series, part, baseline.in_turn), style)
                for case_series, style in series
                if (counterpart := baseline.counterpart(case_series)) is not None
            ]
        )
        reach = self.layer.reach()
        self.plot.setYRange(-reach, reach, padding=0)
        self._axis.setTicks([_ratio_ticks(reach)])


def _select_measured(records: np.ndarray, series: Series, part: Part) -> np.ndarray:
    measured_records = records[records["phase"] == MEASURED]
    return part_ns(measured_records, part, from_schedule=series.case.scenario.is_open_loop)


def _ratio_ticks(reach: float) -> list[tuple[float, str]]:
    """1, and as much above and below it as a round number of percent within reach."""
    most = 0.9 * (10.0**reach - 1.0)
    decade = 10.0 ** math.floor(math.log10(most))
    step = next(m * decade for m in (5.0, 2.0, 1.0) if m * decade <= most)
    low = 1.0 - step if step < 0.5 else 1.0 / (1.0 + step)
    return [(math.log10(ratio), f"{ratio:.4g}") for ratio in (low, 1.0, 1.0 + step)]


@dataclass(frozen=True, slots=True)
class Moved:
    """The shifts of one series, in nanoseconds, and how it is drawn."""

    shifts: Sequence[Shift]
    style: SeriesStyle


class ShiftLayer(Overlay):
    """A curve through the ratios of each series over the band of its intervals."""

    def __init__(self, plot: pg.PlotItem, text: str, theme: Theme) -> None:
        super().__init__(plot)
        self._caption = f"over {text}, quantile by quantile; band: 95 % interval"
        self._theme = theme
        self._curves: tuple[Moved, ...] = ()

    def set_moved(self, shift_curves: Sequence[Moved]) -> None:
        self._curves = tuple(shift_curves)
        self.update()

    @property
    def moved(self) -> tuple[Moved, ...]:
        return self._curves

    def reach(self) -> float:
        """How far from 1 the ratios go, as a logarithm: the y axis shows as much both ways."""
        ends = [shift.ratio for curve in self._curves for shift in curve.shifts]
        return 1.15 * max([_LEAST_REACH, *(abs(math.log10(ratio)) for ratio in ends)])

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.text), 1.0))
        same = self.y_px(0.0)
        painter.drawLine(QPointF(box.left(), same), QPointF(box.right(), same))
        painter.setFont(plot_font(-1.0))
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(box.adjusted(6, 2, -6, 0), Qt.AlignmentFlag.AlignTop, self._caption)
        for curve in self._curves:
            shift_bands = [
                (shift, shift.interval) for shift in curve.shifts if shift.interval is not None
            ]
            low = [self._point(shift, interval.low) for shift, interval in shift_bands]
            high = [self._point(shift, interval.high) for shift, interval in shift_bands]
            shade = QColor(curve.style.color)
            shade.setAlpha(50)
            painter.setPen(QPen(shade, 1.0))
            painter.setBrush(shade)
            painter.drawPolygon(QPolygonF([*low, *reversed(high)]))
            painter.setPen(curve.style.pen(1.8))
            points = [self._point(shift, shift.ratio) for shift in curve.shifts]
            painter.drawPolyline(QPolygonF(points))
            painter.setBrush(curve.style.color)
            for point in points:
                painter.drawEllipse(point, 2.5, 2.5)

    def _point(self, shift: Shift, ratio: float) -> QPointF:
        log_s = math.log10(max(1e-9, shift.at * 1e-9))
        return QPointF(self.x_px(log_s), self.y_px(math.log10(max(ratio, 1e-9))))
