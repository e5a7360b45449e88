"""The axis below a plot that is higher than the window: it stays in sight at the lower edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGraphicsView, QScrollArea, QWidget

_TEXT_BESIDE_PX = 20
"""By so much the first and the last tick's text may reach over the ends of their axis."""


class PinnedAxis(QWidget):
    """Shows the lower axes of those plots that are in sight while these are not.

    It paints a part of the canvas that is scrolled away, so it is what one would find there.
    """

    def __init__(
        self,
        scroll: QScrollArea,
        canvas: QGraphicsView,
        plots: Callable[[], Sequence[pg.PlotItem]],
    ) -> None:
        self._window = scroll.viewport()
        super().__init__(self._window)
        self._canvas, self._plots = canvas, plots
        self._axes: list[QRect] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        # Or the canvas below would be painted with it, which paints it again, and so on.
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.hide()
        canvas.viewport().installEventFilter(self)
        scroll.viewport().installEventFilter(self)
        scroll.verticalScrollBar().valueChanged.connect(self._place)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.Paint, QEvent.Type.Resize):
            self._place()
        return False

    def _place(self) -> None:
        """At the lower edge, as high as the highest of the axes that are scrolled away."""
        seen = self._window.rect()
        bottom = self._canvas.mapFrom(self._window, seen.bottomLeft()).y()
        self._axes = []
        for plot in self._plots():
            axis = plot.getAxis("bottom")
            place = self._on_canvas(axis.mapRectToScene(QRectF(QPointF(), axis.size())))
            starts = self._on_canvas(plot.getViewBox().sceneBoundingRect()).top()
            if axis.isVisible() and starts + place.height() < bottom < place.bottom():
                self._axes.append(place.adjusted(-_TEXT_BESIDE_PX, 0, _TEXT_BESIDE_PX, 0))
        high = max((axis.height() for axis in self._axes), default=0)
        where = QRect(0, seen.height() - high, seen.width(), high)
        if self.geometry() != where:
            self.setGeometry(where)
        self.setVisible(bool(self._axes))
        self.update()

    def _on_canvas(self, area: QRectF) -> QRect:
        return self._canvas.mapFromScene(area).boundingRect()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._canvas.backgroundBrush())
        for axis in self._axes:
            target = QRectF(axis.left(), 0.0, axis.width(), axis.height())
            self._canvas.render(painter, target, axis)
        painter.end()
