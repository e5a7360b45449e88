"""The graph of a model: its nodes and shapes, and which engine ran each; one item of the scene."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QLineEdit, QStyleOptionGraphicsItem, QWidget

from app.formatting.text import counted
from app.gui.look.errand import Errand
from app.gui.look.overlay import plot_font
from app.gui.look.text import Table
from app.gui.look.theme import Theme
from app.gui.plots.base import PlotView
from app.gui.plots.graph_layout import (
    COLUMN,
    LEVEL,
    Layout,
    ModelGraph,
    lay_out,
    load_graph,
)
from app.gui.plots.legend import Entry
from app.gui.plots.read.reading import Spot, SpotReader
from app.plot_data.series import Series
from app.runs.following.state import CaseDetails
from exporters.types import GraphlapError

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
        result = []
        for node, (x, y), engine in zip(
            self._graph.nodes, self._layout.places, engines, strict=True
        ):
            ran = f"on {engine}" if engine and node.kind == "node" else ""
            lines = tuple(filter(None, (*node.shapes, ran)))
            result.append(Spot(x, y, f"{node.op}  {node.name}".strip(), lines, reach=reach))
        return result

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        zoom = option.levelOfDetailFromTransform(painter.worldTransform())
        view_rect = self.viewRect()
        self._paint_edges(painter, view_rect, zoom)
        visible_nodes = self._find_visible(view_rect)
        pen = QPen(QColor(self._theme.border))
        pen.setCosmetic(True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, zoom > _LEGIBLE)
        for k in visible_nodes:
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
            self._paint_texts(painter, visible_nodes)

    def _paint_texts(self, painter: QPainter, visible_nodes: Sequence[int]) -> None:
        bold, small = plot_font(bold=True), plot_font(-1.5)
        small_metrics = QFontMetricsF(small)
        center = Qt.AlignmentFlag.AlignCenter
        for k in visible_nodes:
            node, box = self._graph.nodes[k], self._box(k).adjusted(10, 4, -8, -4)
            upper = QRectF(box.left(), box.top(), box.width(), box.height() / 2)
            lower = QRectF(box.left(), box.center().y(), box.width(), box.height() / 2)
            heading = node.op if node.kind == "node" else node.kind
            painter.setFont(bold)
            painter.setPen(QColor(self._theme.text))
            painter.drawText(upper, center, heading)
            painter.setFont(small)
            painter.setPen(QColor(self._theme.muted))
            name = small_metrics.elidedText(node.name, Qt.TextElideMode.ElideLeft, lower.width())
            painter.drawText(lower, center, name)
            if node.kind != "output" and node.shapes and node.shapes[0]:
                x, y = self._layout.places[k]
                position = QPointF(x + 7, y + NODE_HEIGHT / 2 + small_metrics.ascent() + 2)
                painter.drawText(position, node.shapes[0])

    def _paint_edges(self, painter: QPainter, rectangle: QRectF, zoom: float) -> None:
        pen = QPen(QColor(self._theme.muted), 1.2)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, zoom > _LEGIBLE)
        for path, bounds in self._curves:
            if bounds.intersects(rectangle):
                painter.drawPath(path)

    def _find_visible(self, area: QRectF) -> list[int]:
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
        for (ax, ay), (bx, end_y) in pairwise(points):
            middle = min((end_y - ay) / 2, LEVEL / 2)
            path.cubicTo(ax, ay + middle, bx, end_y - middle, bx, end_y)
        return path, path.boundingRect().adjusted(-1, -1, 1, 1)


_NATURAL_ZOOM = 0.6
"""A graph that would be smaller than this as a whole is shown from its top instead."""


@dataclass(frozen=True, slots=True)
class LaidGraph:
    """A graph and where its nodes are drawn."""

    graph: ModelGraph
    layout: Layout


class GraphView(PlotView):
    """Pan by dragging, zoom with the wheel, find by name; reading a file never blocks."""

    title = "Model graph"
    hint = "The operators of the model, the shapes between them, and where each of them ran."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._laid: LaidGraph | None = None
        self._engine = self._name = ""
        self._other_engines: Mapping[str, str] = {}
        self._item: GraphItem | None = None
        self._placeholder = "No graph. Choose a case, or drop an .onnx file on the window."
        self._reading: Errand | None = None
        self._details: CaseDetails | None = None
        self.find_box = QLineEdit(placeholderText="Find a node or operator")
        self.find_box.setMinimumWidth(260)
        self.find_box.setAccessibleName("Find a node")
        self.find_box.setToolTip("Marks the nodes whose name or operator holds this text.")
        self.find_box.setClearButtonEnabled(True)
        self.find_box.textChanged.connect(self._find)
        self.controls.add(self.find_box)

    def offers(self) -> bool:
        """Every case has a graph; it is read once somebody looks at it."""
        return True

    def set_details(self, details: CaseDetails, case_series: Series) -> None:
        """Open the case's model, unless all that is new of the case are its operator times."""
        new_details = details.without_operators()
        if new_details != self._details:
            self._details = new_details
            model = details.model
            self.open_model(Path(model.path), details.engine, details.elsewhere, model.name)

    def open_model(
        self,
        path: Path,
        engine: str = "",
        other_engines: Mapping[str, str] | None = None,
        name: str = "",
    ) -> None:
        """Read and lay out a file in the background, then show it under `name`.

        Without one it is called by its file's name. `engine` is the execution provider that
        was asked for, `other_engines` the providers of the nodes that it did not take, by node
        name.
        """
        self._engine, self._other_engines = engine, dict(other_engines or {})
        self._laid = None
        self._name = name or path.stem
        self._placeholder = f"Reading {name or path.name} …"
        self._reading = Errand(partial(_lay_graph, path))
        self._reading.done.connect(self._show_graph)
        self._reading.begin()
        self.mark_dirty()
        self.refresh()

    def _show_graph(self, reading: Errand, result: LaidGraph | GraphlapError) -> None:
        if reading is not self._reading:
            return
        self._reading = None
        if isinstance(result, LaidGraph):
            self._laid = result
            self.follows = True
        else:
            self._placeholder = str(result)
        self.mark_dirty()
        self.refresh()

    def draw(self) -> str:
        if self._laid is None:
            return self._placeholder
        graph, layout = self._laid.graph, self._laid.layout
        view_range = self.kept_range()
        self.reset()
        plot = self.add_plot(0, 0)
        plot.showGrid(x=False, y=False)
        plot.hideAxis("left")
        plot.hideAxis("bottom")
        box = plot.getViewBox()
        box.setAspectLocked(True)
        box.invertY(True)
        engines = [self._other_engines.get(n.name, self._engine) for n in graph.nodes]
        colors = self._engine_colors(engines)
        self._item = GraphItem(graph, layout, [colors[e] for e in engines], self.theme)
        plot.addItem(self._item)
        self.let_read(plot, SpotReader(self._item.spots(engines)))
        if view_range is None:
            bounds, first = self._item.boundingRect(), layout.places[0]

            def frame() -> None:
                if self.follows:
                    self._frame(plot, bounds, first)

            frame()
            box.sigResized.connect(frame)  # it gets its size when the canvas is laid out
        else:
            plot.setRange(xRange=view_range[0], yRange=view_range[1], padding=0)
        clear = pg.mkPen(QColor(0, 0, 0, 0))
        self.show_legend(
            [Entry(name, clear, pg.mkBrush(color)) for name, color in colors.items() if name]
        )
        self.show_heading(self._name, self._note(graph))
        self._find(self.find_box.text())
        return ""

    def _note(self, graph: ModelGraph) -> str:
        names = {node.name for node in graph.nodes}
        count = sum(node.kind == "node" for node in graph.nodes)
        missing = [name for name in self._other_engines if name not in names]
        note = counted(count, "operator")
        if self._other_engines:
            note += f", {len(self._other_engines)} of the executed graph ran elsewhere"
        if missing:
            note += (
                f"; {len(missing)} of them are not in the file, as the engine fused or added them"
            )
        return note

    def _engine_colors(self, engines: list[str]) -> dict[str, QColor]:
        """The asked-for engine in the accent, others in colours that stand out from it."""
        other_colors = [self.theme.runtimes[name] for name in ("openvino-cpu", "torch-cpu", "fpga")]
        colors = {self._engine: QColor(self.theme.accent)}
        for engine in dict.fromkeys(engines):
            if engine not in colors:
                colors[engine] = QColor(other_colors[(len(colors) - 1) % len(other_colors)])
        return colors

    def _frame(self, plot: pg.PlotItem, bounds: QRectF, first: tuple[float, float]) -> None:
        """All of it if that can be read, else the top at a size that can."""
        size = plot.getViewBox().rect()
        whole = min(size.width() / bounds.width(), size.height() / bounds.height())
        if whole >= _NATURAL_ZOOM or size.isEmpty():
            plot.setRange(bounds, padding=0.0)
            return
        width, height = size.width() / 0.85, size.height() / 0.85
        self._center(plot, QPointF(first[0], bounds.top() + height / 2), width, height)

    @staticmethod
    def _center(plot: pg.PlotItem, point: QPointF, width: float, height: float) -> None:
        plot.setRange(
            xRange=(point.x() - width / 2, point.x() + width / 2),
            yRange=(point.y() - height / 2, point.y() + height / 2),
            padding=0,
        )

    def _find(self, text: str) -> None:
        """Mark what matches, and go to the first of it."""
        if self._item is None or self._laid is None:
            return
        words = text.lower()
        matches = [
            k
            for k, node in enumerate(self._laid.graph.nodes)
            if words and words in f"{node.op} {node.name}".lower()
        ]
        self._item.found = frozenset(matches)
        self._item.update()
        if matches:
            (left, right), (top, bottom) = self.plots[0].viewRange()
            position = QPointF(*self._laid.layout.places[matches[0]])
            self._center(self.plots[0], position, right - left, bottom - top)
            self.follows = False

    def table(self) -> Table:
        nodes = self._laid.graph.nodes if self._laid else ()
        return ["node", "op", "shapes", "engine"], [
            [n.name, n.op, "; ".join(n.shapes), self._other_engines.get(n.name, self._engine)]
            for n in nodes
            if n.kind == "node"
        ]


def _lay_graph(path: Path) -> LaidGraph:
    """Read a file and find the places of its nodes; NoModel for one that is none."""
    graph = load_graph(path)
    edges = [(source, target) for source, target, _ in graph.edges]
    return LaidGraph(graph, lay_out(len(graph.nodes), edges))
