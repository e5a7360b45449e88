"""A hand on a view: where things lie on its canvas, and moving and dragging over them."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from app.gui.plots.base import PlotView

LEFT = Qt.MouseButton.LeftButton


def settle(view: PlotView) -> None:
    """Have the layout done: axes learn their width while they are painted."""
    for _ in range(2):
        view.canvas.grab()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


def at(view: PlotView, x: float, y: float, plot: int = 0) -> QPoint:
    """The pixel of the canvas at these coordinates of a plot."""
    settle(view)
    box = view.plots[plot].getViewBox()
    (left, right), (low, high) = view.plots[plot].viewRange()
    rect = box.sceneBoundingRect()
    up = (y - low) / (high - low)
    down = up if box.yInverted() else 1.0 - up
    x_share = (x - left) / (right - left)
    scene = QPointF(rect.left() + x_share * rect.width(), rect.top() + down * rect.height())
    return view.canvas.mapFromScene(scene)


def hover(view: PlotView, where: QPoint) -> str:
    QTest.mouseMove(view.canvas.viewport(), where - QPoint(1, 0))
    QTest.mouseMove(view.canvas.viewport(), where)
    return view.crosshair.box.plain


def drag(view: PlotView, point: QPoint, end_point: QPoint) -> None:
    """With Shift held."""
    canvas, shift = view.canvas.viewport(), Qt.KeyboardModifier.ShiftModifier
    QTest.mousePress(canvas, LEFT, shift, point)
    QTest.mouseMove(canvas, (point + end_point) / 2)
    QTest.mouseMove(canvas, end_point)
    QTest.mouseRelease(canvas, LEFT, shift, end_point)
