"""A view whose series may stand in rows, more of them than fit: a scroll bar says which are seen.

The wheel scrolls while there is something to scroll to, and zooms with Ctrl.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFontMetricsF, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollBar, QWidget

from app.gui.look.plot_font import plot_font
from app.gui.plots.base import PlotView

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
        around = max(_ABOVE_AND_BELOW_PX, round(_LINES_AROUND * self._line_px()))
        room = self.canvas.height() - around
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

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if isinstance(event, QWheelEvent) and self.row_bar.isVisible():
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                return False
            steps = event.angleDelta().y() / 120.0
            self.row_bar.setValue(self.row_bar.value() - round(steps) or self.row_bar.value())
            return True
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.mark_dirty()  # more or fewer rows fit
