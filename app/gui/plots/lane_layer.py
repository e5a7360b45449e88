"""Lanes below the samples of a timeline: painted on the same time axis, and read like samples."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme
from app.gui.plots.lanes import Lane, Stretch
from app.gui.plots.read.reading import Line, Place, Reading

_LANE_HEIGHT, _AXIS_HEIGHT = 20, 44
_LEAST_REACH = 0.05


class LaneLayer(Overlay):
    """A row for each lane: a number as a line between its least and its greatest, words as bars."""

    def __init__(self, plot: pg.PlotItem, theme: Theme) -> None:
        super().__init__(plot)
        self._theme = theme
        self._lanes: tuple[Lane, ...] = ()

    def set_lanes(self, lanes: Sequence[Lane]) -> None:
        self._lanes = tuple(lanes)
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.5))
        for row, lane in enumerate(self._lanes):
            top, bottom = self.y_px(row - 0.4), self.y_px(row + 0.4)
            strip = QRectF(box.left(), top, box.width(), bottom - top)
            values = [s.value for s in lane.stretches if s.value is not None]
            for stretch in lane.stretches:
                left, right = self.x_px(stretch.begin_s), self.x_px(stretch.end_s)
                if right < box.left() or left > box.right():
                    continue
                place = QRectF(left, strip.top(), max(1.5, right - left), strip.height())
                self._paint_stretch(painter, stretch, place & box, values)

    def _paint_stretch(
        self, painter: QPainter, stretch: Stretch, place: QRectF, values: Sequence[float]
    ) -> None:
        if stretch.amiss:
            shade = QColor(self._theme.warning)
            shade.setAlpha(150)
            painter.fillRect(place, shade)
        if stretch.value is not None:
            middle, reach = (min(values) + max(values)) / 2.0, (max(values) - min(values)) / 2.0
            # What hardly moves is drawn so: its line does not fill the lane.
            reach = max(reach, _LEAST_REACH * abs(middle), 1e-9)
            share = 0.5 + 0.5 * (stretch.value - middle) / reach
            y = place.bottom() - 2.0 - share * (place.height() - 4.0)
            painter.setPen(QPen(QColor(self._theme.accent), 2.0))
            painter.drawLine(QPointF(place.left(), y), QPointF(place.right(), y))
        elif not stretch.amiss:
            painter.setPen(QPen(QColor(self._theme.border), 1.0))
            middle = place.center().y()
            painter.drawLine(QPointF(place.left(), middle), QPointF(place.right(), middle))
        metrics = QFontMetricsF(painter.font())
        wide = metrics.horizontalAdvance(stretch.text)
        if wide + 8.0 <= place.width():
            room = QRectF(place.left() + 4.0, place.top(), wide, place.height())
            if not stretch.amiss:
                painter.fillRect(room, QColor(self._theme.base))
            painter.setPen(QColor(self._theme.text if stretch.amiss else self._theme.muted))
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, stretch.text)


class LanePlot:
    """The plot of a case's lanes below that of its samples, as high as they need."""

    def __init__(self, plot: pg.PlotItem, layer: LaneLayer, rows: int, above: pg.PlotItem) -> None:
        self.plot, self.layer = plot, layer
        plot.setXLink(above)
        plot.getViewBox().invertY(True)
        plot.getViewBox().setMouseEnabled(True, False)
        plot.setYRange(-0.5, rows - 0.5, padding=0)
        plot.showGrid(x=True, y=False)
        plot.setMinimumHeight(_LANE_HEIGHT * rows)
        plot.setMaximumHeight(_LANE_HEIGHT * rows + _AXIS_HEIGHT)


class LaneReader:
    """What was recorded at the moment under the pointer, in the lane under it."""

    def __init__(self, lanes: Sequence[Lane], key: str) -> None:
        self._lanes, self._key = tuple(lanes), key

    def at(self, place: Place) -> Reading | None:
        row = round(place.y)
        if not 0 <= row < len(self._lanes):
            return None
        lane = self._lanes[row]
        stretch = lane.at(place.x)
        told = Line(stretch.text if stretch else "nothing recorded here")
        return Reading(lane.name, (told,), place.x, row, (self._key,))

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        row = round(place.y)
        if up:
            return (place.x, row - up) if 0 <= row - up < len(self._lanes) else None
        middles = [(s.begin_s + s.end_s) / 2.0 for s in self._lanes[row].stretches]
        ahead = [x for x in middles if (x - place.x) * right > 1e-12]
        return (min(ahead, key=lambda x: abs(x - place.x)), row) if ahead else None
