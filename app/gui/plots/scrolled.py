"""Views higher than the window: a scroll bar, rows that fit, an axis that stays in sight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsView, QHBoxLayout, QScrollArea, QScrollBar, QWidget

from app.gui.look.overlay import plot_font
from app.gui.plots.base import PlotView

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

    def eventFilter(self, _target: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.Paint, QEvent.Type.Resize):
            self._place()
        return False

    def _place(self) -> None:
        """At the lower edge, as high as the highest of the axes that are scrolled away."""
        window_rect = self._window.rect()
        bottom = self._canvas.mapFrom(self._window, window_rect.bottomLeft()).y()
        self._axes = []
        for plot in self._plots():
            axis = plot.getAxis("bottom")
            place = self._on_canvas(axis.mapRectToScene(QRectF(QPointF(), axis.size())))
            starts = self._on_canvas(plot.getViewBox().sceneBoundingRect()).top()
            if axis.isVisible() and starts + place.height() < bottom < place.bottom():
                self._axes.append(place.adjusted(-_TEXT_BESIDE_PX, 0, _TEXT_BESIDE_PX, 0))
        high = max((axis.height() for axis in self._axes), default=0)
        where = QRect(0, window_rect.height() - high, window_rect.width(), high)
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


class ScrolledView(PlotView):
    """Give the canvas a minimum height; the wheel scrolls, as nothing in here zooms."""

    def _framed(self, canvas: QWidget) -> QWidget:
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        scroll.setAccessibleName(f"{self.title} scroll area")
        scroll.setWidget(canvas)
        self.pinned_axis = PinnedAxis(scroll, self.canvas, lambda: self.plots)
        self.fit_button.hide()
        return scroll


_ABOVE_AND_BELOW_PX, _LINES_AROUND = 110, 5
"""What heading, legend and time axis take of the canvas, about: more with large letters."""


class RowsView(PlotView):
    """Subclasses ask `rows_in_sight` which rows to draw; another answer marks them dirty."""

    def _framed(self, canvas: QWidget) -> QWidget:
        place = QWidget()
        layout = QHBoxLayout(place)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.row_bar = QScrollBar(Qt.Orientation.Vertical)
        self.row_bar.setAccessibleName(f"{self.title}: rows")
        self.row_bar.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.row_bar.valueChanged.connect(self._option_changed)
        self.row_bar.hide()
        layout.addWidget(canvas, 1)
        layout.addWidget(self.row_bar)
        self.canvas.viewport().installEventFilter(self)
        return place

    def rows_in_sight(self, rows: int, least_px: int) -> range:
        """Those of so many rows, each of that height at least, to which the bar is scrolled; all
        where they may be of any height."""
        margin_px = max(_ABOVE_AND_BELOW_PX, round(_LINES_AROUND * self._line_px()))
        room = self.canvas.height() - margin_px
        fitting = max(1, min(rows, room // least_px)) if least_px else rows
        self.row_bar.blockSignals(True)  # who asks draws what it is answered
        self.row_bar.setPageStep(fitting)
        self.row_bar.setRange(0, rows - fitting)
        self.row_bar.blockSignals(False)
        self.row_bar.setVisible(fitting < rows)
        return range(self.row_bar.value(), self.row_bar.value() + fitting)

    @staticmethod
    def _line_px() -> float:
        return QFontMetricsF(plot_font()).height()

    def eventFilter(self, target: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if isinstance(event, QWheelEvent) and self.row_bar.isVisible():
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                return False
            steps = event.angleDelta().y() / 120.0
            self.row_bar.setValue(self.row_bar.value() - round(steps) or self.row_bar.value())
            return True
        return super().eventFilter(target, event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.mark_dirty()  # more or fewer rows fit
