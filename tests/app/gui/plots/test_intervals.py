"""Intervals of points: what they reach over, and caps that no zoom makes longer."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from app.gui.look.overlay import Overlay
from app.gui.plots.marks import lay_intervals

RED = QColor("#ff0000")


def _red_rows(image: QImage) -> dict[int, int]:
    """How many red pixels each row has that has more than one."""
    counts = {
        y: sum(image.pixelColor(x, y).name() == RED.name() for x in range(image.width()))
        for y in range(image.height())
    }
    return {y: count for y, count in counts.items() if count > 1}


@pytest.mark.parametrize("reach", [0.001, 1.0, 1000.0])
def test_caps_stand_at_the_ends_and_are_as_wide_at_any_zoom(qtbot: QtBot, reach: float) -> None:
    canvas = pg.GraphicsLayoutWidget()
    qtbot.addWidget(canvas)
    canvas.resize(400, 300)
    plot = canvas.ci.addPlot(row=0, col=0, axisItems={})
    layers: list[Overlay] = []

    def lay(layer: Overlay) -> Overlay:
        layers.append(layer)
        return layer

    pen = pg.mkPen(RED, width=1)
    lay_intervals(lay, plot, np.array([0.0]), np.array([1.0]), np.array([3.0]), pen)
    canvas.show()
    qtbot.waitExposed(canvas)
    canvas.grab()  # what is not painted has no range yet
    (_, _), (low, high) = plot.getViewBox().viewRange()
    assert low <= 1.0 and high >= 3.0, "the plot holds the interval by itself"
    plot.setXRange(-reach, reach, padding=0)
    plot.setYRange(0.0, 4.0, padding=0)
    qtbot.wait(50)
    caps = _red_rows(canvas.grab().toImage())
    assert len(caps) == 2
    assert all(6 <= count <= 12 for count in caps.values())
    upper, lower = sorted(caps)
    assert lower - upper == pytest.approx(plot.getViewBox().rect().height() / 2.0, abs=2)
