"""A view whose canvas may be higher than the window: it lies behind a scroll bar."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.gui.plots.base import PlotView
from app.gui.plots.pinned_axis import PinnedAxis


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
