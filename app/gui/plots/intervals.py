"""The 95 % intervals of points: upright lines whose caps are as wide at any zoom."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay

_CAP_PX = 4.0
"""By so much a cap reaches to either side."""


def lay_intervals(
    lay: Callable[[Overlay], Overlay],
    plot: pg.PlotItem,
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    pen: QPen,
) -> None:
    """Draw the intervals from `low` to `high` at `x` [n each], as the axes have them.

    The lines are data, so that the plot's range holds them; `lay` is the view's own.
    """
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    plot.addItem(pg.ErrorBarItem(x=x, y=middle, bottom=half, top=half, beam=0.0, pen=pen))
    lay(CapLayer(plot, x, low, high, pen))


class CapLayer(Overlay):
    """A short line across each end of each interval, below the points."""

    def __init__(
        self, plot: pg.PlotItem, x: np.ndarray, low: np.ndarray, high: np.ndarray, pen: QPen
    ) -> None:
        super().__init__(plot)
        self._x, self._ends, self._pen = x, (low, high), pen
        self.setZValue(-1)

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setPen(self._pen)
        across = self.x_px(self._x)
        for ends in self._ends:
            rows = self.y_px(ends)
            painter.drawLines(
                [
                    QLineF(x - _CAP_PX, y, x + _CAP_PX, y)
                    for x, y in zip(across.tolist(), rows.tolist(), strict=True)
                ]
            )
