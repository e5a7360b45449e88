"""A laid-out graph as one item of the scene: thousands of nodes cost one paint call.

Only what is seen is painted, texts only where they can be read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.theme import Theme
from app.gui.plots.graph_layout import COLUMN, LEVEL, Layout
from app.gui.plots.graph_model import ModelGraph
from app.gui.plots.legend import plot_font
from app.gui.plots.read.spots import Spot

NODE_WIDTH, NODE_HEIGHT = COLUMN - 30.0, 46.0
_LEGIBLE = 0.45
"""Pixels per unit from which on texts are painted."""


class GraphItem(pg.GraphicsObject):
    """Boxes and curves in the layout's own units, one unit a pixel at zoom 1."""

    def __init__(
        self, graph: ModelGraph, layout: Layout, colors: Sequence[QColor], theme: Theme
    ) -> None:
        super().__init__()
        self._graph, self._layout, self._theme = graph, layout, theme
        self._colors = tuple(colors)
        self.found: frozenset[int] = frozenset()
        self._order = sorted(range(len(graph.nodes)), key=lambda k: layout.places[k][1])
        self._rows = [layout.places[k][1] for k in self._order]
        self._curves = [self._curve(k) for k in range(len(graph.edges))]
        xs = [x for x, _ in layout.places] + [x for bend in layout.bends for x, _ in bend]
        self._bounds = QRectF(
            min(xs) - NODE_WIDTH,
            -NODE_HEIGHT,
            max(xs) - min(xs) + 2 * NODE_WIDTH,
            self._rows[-1] + 2 * NODE_HEIGHT,
        )

    def boundingRect(self) -> QRectF:  # noqa: N802
        return self._bounds

    def spots(self, engines: Sequence[str]) -> list[Spot]:
        """What is read of each node."""
        reach = (NODE_WIDTH / 2.0, NODE_HEIGHT / 2.0)
        found = []
        for node, (x, y), engine in zip(
            self._graph.nodes, self._layout.places, engines, strict=True
        ):
            ran = f"on {engine}" if engine and node.kind == "node" else ""
            told = tuple(filter(None, (*node.shapes, ran)))
            found.append(Spot(x, y, f"{node.op}  {node.name}".strip(), told, reach=reach))
        return found

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        zoom = option.levelOfDetailFromTransform(painter.worldTransform())
        seen = self.viewRect()
        self._paint_edges(painter, seen, zoom)
        shown = self._seen(seen)
        pen = QPen(QColor(self._theme.border))
        pen.setCosmetic(True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, zoom > _LEGIBLE)
        for k in shown:
            box = self._box(k)
            color = QColor(self._colors[k])
            painter.setPen(pen if k not in self.found else QPen(QColor(self._theme.warning), 4.0))
            painter.setBrush(QColor(self._theme.raised))
            if self._graph.nodes[k].kind != "node":
                painter.drawRoundedRect(box, NODE_HEIGHT / 2, NODE_HEIGHT / 2)
                continue
            if zoom < _LEGIBLE:
                painter.setBrush(color)
                painter.drawRect(box)
                continue
            painter.drawRoundedRect(box, 5, 5)
            painter.fillRect(QRectF(box.left(), box.top() + 4, 5, box.height() - 8), color)
        if zoom >= _LEGIBLE:
            self._paint_texts(painter, shown)

    def _paint_texts(self, painter: QPainter, shown: Sequence[int]) -> None:
        bold, small = plot_font(bold=True), plot_font(-1.5)
        small_metrics = QFontMetricsF(small)
        center = Qt.AlignmentFlag.AlignCenter
        for k in shown:
            node, box = self._graph.nodes[k], self._box(k).adjusted(10, 4, -8, -4)
            upper = QRectF(box.left(), box.top(), box.width(), box.height() / 2)
            lower = QRectF(box.left(), box.center().y(), box.width(), box.height() / 2)
            told = node.op if node.kind == "node" else node.kind
            painter.setFont(bold)
            painter.setPen(QColor(self._theme.text))
            painter.drawText(upper, center, told)
            painter.setFont(small)
            painter.setPen(QColor(self._theme.muted))
            name = small_metrics.elidedText(node.name, Qt.TextElideMode.ElideLeft, lower.width())
            painter.drawText(lower, center, name)
            if node.kind != "output" and node.shapes and node.shapes[0]:
                x, y = self._layout.places[k]
                at = QPointF(x + 7, y + NODE_HEIGHT / 2 + small_metrics.ascent() + 2)
                painter.drawText(at, node.shapes[0])

    def _paint_edges(self, painter: QPainter, seen: QRectF, zoom: float) -> None:
        pen = QPen(QColor(self._theme.muted), 1.2)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, zoom > _LEGIBLE)
        for path, bounds in self._curves:
            if bounds.intersects(seen):
                painter.drawPath(path)

    def _seen(self, area: QRectF) -> list[int]:
        first = bisect_left(self._rows, area.top() - NODE_HEIGHT)
        last = bisect_left(self._rows, area.bottom() + NODE_HEIGHT)
        return self._order[first:last]

    def _box(self, place: int) -> QRectF:
        x, y = self._layout.places[place]
        return QRectF(x - NODE_WIDTH / 2, y - NODE_HEIGHT / 2, NODE_WIDTH, NODE_HEIGHT)

    def _curve(self, edge: int) -> tuple[QPainterPath, QRectF]:
        """From the lower edge of one node through its bends to the upper edge of another."""
        source, target, _ = self._graph.edges[edge]
        (x0, y0), (x1, y1) = self._layout.places[source], self._layout.places[target]
        points = [
            (x0, y0 + NODE_HEIGHT / 2),
            *self._layout.bends[edge],
            (x1, y1 - NODE_HEIGHT / 2),
        ]
        path = QPainterPath(QPointF(*points[0]))
        for (ax, ay), (bx, by) in pairwise(points):
            middle = min((by - ay) / 2, LEVEL / 2)
            path.cubicTo(ax, ay + middle, bx, by - middle, bx, by)
        return path, path.boundingRect().adjusted(-1, -1, 1, 1)
