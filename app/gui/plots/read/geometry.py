"""Between pixels of a canvas and coordinates of the plots on it."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, QRect
from PySide6.QtWidgets import QGraphicsView

from app.gui.plots.read.reading import Place


def coordinates(canvas: QGraphicsView, plot: pg.PlotItem, at: QPoint) -> tuple[float, float]:
    """What lies at a pixel of the canvas, in the plot's coordinates."""
    view, scene = plot.getViewBox(), canvas.mapToScene(at)
    box = view.sceneBoundingRect()
    (left, right), (low, high) = plot.viewRange()
    across = (scene.x() - box.left()) / box.width()
    down = (scene.y() - box.top()) / box.height()
    up = down if view.yInverted() else 1.0 - down
    return left + across * (right - left), low + up * (high - low)


def place(plot: pg.PlotItem, x: float, y: float) -> Place:
    """The same place with the size of a pixel there."""
    view = plot.getViewBox()
    box = view.sceneBoundingRect()
    (left, right), (low, high) = plot.viewRange()
    tall = (high - low) / box.height()
    return Place(x, y, ((right - left) / box.width(), -tall if view.yInverted() else tall))


def column(canvas: QGraphicsView, plot: pg.PlotItem, x: float) -> QPoint:
    """Where a value of the x axis lies on the canvas, half-way up the plot."""
    (left, right), _ = plot.viewRange()
    box = plot.getViewBox().sceneBoundingRect()
    across = (x - left) / (right - left) * box.width()
    return canvas.mapFromScene(QPointF(box.left() + across, box.center().y()))


def middle(plot: pg.PlotItem) -> tuple[float, float]:
    """The coordinates in the middle of what a plot shows."""
    (left, right), (low, high) = plot.viewRange()
    return (left + right) / 2.0, (low + high) / 2.0


def room(canvas: QGraphicsView, plots: Sequence[pg.PlotItem]) -> QRect:
    """Where the first of these plots begins, and as wide as all of them."""
    if not plots:
        return canvas.viewport().rect()
    boxes = [plot.getViewBox().sceneBoundingRect() for plot in plots]
    left, right = min(box.left() for box in boxes), max(box.right() for box in boxes)
    top, bottom = min((box.top(), box.bottom()) for box in boxes)
    corners = (canvas.mapFromScene(QPointF(left, top)), canvas.mapFromScene(QPointF(right, bottom)))
    return QRect(*corners)


def bring(plot: pg.PlotItem, x: float, y: float) -> bool:
    """Move the plot if a place would be out of sight, a fifth farther; whether it was moved."""
    across, up = (
        _beyond(value, ends) for value, ends in zip((x, y), plot.viewRange(), strict=True)
    )
    if across or up:
        plot.getViewBox().translateBy(x=across, y=up)
    return bool(across or up)


def _beyond(value: float, ends: Sequence[float]) -> float:
    low, high = ends
    ahead = 0.2 * (high - low)
    return value - high + ahead if value > high else value - low - ahead if value < low else 0.0
