"""What is painted over a plot: Qt hears of new bounds before they are there."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from pytestqt.qtbot import QtBot

from app.gui.look.overlay import Overlay


class _RecordingOverlay(Overlay):
    """Writes down the bounds at which Qt is told that they are about to change."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self.at: list[QRectF] = []
        super().__init__(plot)

    def prepareGeometryChange(self) -> None:  # noqa: N802
        self.at.append(self.boundingRect())
        super().prepareGeometryChange()


def test_bounds_change_after_qt_was_told(qtbot: QtBot) -> None:
    canvas = pg.GraphicsLayoutWidget()
    qtbot.addWidget(canvas)
    plot = canvas.ci.addPlot(row=0, col=0, axisItems={})
    canvas.resize(400, 300)
    canvas.show()
    qtbot.waitExposed(canvas)
    overlay = _RecordingOverlay(plot)
    bounds = overlay.boundingRect()
    assert bounds == plot.getViewBox().rect()
    canvas.resize(700, 500)
    qtbot.waitUntil(lambda: overlay.boundingRect() != bounds)
    assert overlay.at[0] == bounds
    assert overlay.boundingRect() == plot.getViewBox().rect()
    call_count = len(overlay.at)
    plot.setXRange(3, 4, padding=0)
    assert len(overlay.at) == call_count, "other data, the same place"
