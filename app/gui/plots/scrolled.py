"""Views larger than the window: rows that fit, an axis that stays in sight, a grid of tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsView,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QScrollBar,
    QStyleOptionGraphicsItem,
    QWidget,
)

from app.gui.look.controls import lay, named
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.text import shorter
from app.gui.plots.axes import NamesAxis, SolidAxis
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
        self.row_bar = named(QScrollBar(Qt.Orientation.Vertical), f"{self.title}: rows")
        self.row_bar.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.row_bar.valueChanged.connect(self._option_changed)
        self.row_bar.hide()
        lay(QHBoxLayout(place), (canvas, 1), self.row_bar, spacing=0)
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


_LONGEST_PX = 190.0
_GAP_PX = 8.0


class HeadingsAxis(SolidAxis):
    """A top axis whose columns 0, 1, 2 … carry names."""

    def __init__(self, names: Sequence[str], ink: QColor) -> None:
        super().__init__("top")
        self._names, self._ink = tuple(names), ink
        self._brief: tuple[str, ...] = self._names
        self._upright = False
        self._box: pg.ViewBox | None = None

    def stand_over(self, box: pg.ViewBox, column_px: float, most_px: float) -> float:
        """Over the columns of this box, each of which is so wide; tells how high that makes it.

        Upright only where that leaves more of a name than its column does, and not above `most_px`.
        """
        metrics = QFontMetricsF(plot_font())
        widest = max(map(metrics.horizontalAdvance, self._names), default=0.0)
        upright_px = min(widest, _LONGEST_PX, most_px - _GAP_PX)
        self._box = box
        self._upright = widest + _GAP_PX > column_px and upright_px > column_px - _GAP_PX
        height = _GAP_PX + (upright_px if self._upright else metrics.height())
        room = upright_px if self._upright else column_px - _GAP_PX
        self._brief = tuple(shorter(self._names, room, metrics.horizontalAdvance))
        self.setHeight(height)
        self.update()
        return height

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if self._box is None:
            return
        (low, high), _ = self._box.viewRange()
        rect, room = self._box.rect(), self.boundingRect()
        column_px = rect.width() / (high - low)
        metrics = QFontMetricsF(plot_font())
        painter.setFont(plot_font())
        painter.setPen(self._ink)
        for place, text in enumerate(self._brief):
            if not low <= place <= high:
                continue
            position = self.mapFromItem(
                self._box, QPointF((place - low) * column_px + rect.left(), 0.0)
            )
            if not self._upright:
                cell = QRectF(position.x() - column_px / 2, room.top(), column_px, room.height())
                painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, text)
                continue
            painter.save()
            painter.translate(position.x() + metrics.ascent() / 2.0, room.bottom() - _GAP_PX / 2.0)
            painter.rotate(-90.0)
            painter.drawText(QPointF(0.0, 0.0), text)
            painter.restore()


_WIDEST_FIGURE = "1,000 µs"
_LEAST_HEIGHT, _MOST_HEIGHT = 26.0, 60.0
_HEADINGS_SHARE = 0.45
"""Of the height: names that took more of a low window once left no room for any tile."""
_NOTCH = 120


class Placed(Protocol):
    """What has a row and a column of a grid."""

    @property
    def row(self) -> int: ...

    @property
    def column(self) -> int: ...


TileT = TypeVar("TileT", bound=Placed)


class TileGrid(PlotView):
    """Subclasses make the plot with `show_grid` and lay a `TileOverlay` over it."""

    def _framed(self, canvas: QWidget) -> QWidget:
        self._grid = (0, 0)
        self._heading = ("", "")
        self._headings: HeadingsAxis | None = None
        self._bars = [QScrollBar(Qt.Orientation.Horizontal), QScrollBar(Qt.Orientation.Vertical)]
        frame = QWidget()
        layout = QGridLayout(frame)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(canvas, 0, 0)
        for bar, place, axis_name in zip(
            self._bars, ((1, 0), (0, 1)), ("columns", "rows"), strict=True
        ):
            bar.setAccessibleName(f"{self.title}: {axis_name} that are shown")
            bar.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            bar.valueChanged.connect(self._scroll)
            bar.hide()
            layout.addWidget(bar, *place)
        self.canvas.viewport().installEventFilter(self)
        self.fit_button.hide()
        return frame

    def show_grid(self, rows: Sequence[str], columns: Sequence[str]) -> pg.PlotItem:
        """An empty plot with a name before each row, the first on top, and above each column."""
        self.reset()
        self._grid = (len(columns), len(rows))
        names = NamesAxis()
        names.set_names(list(rows))
        plot = self.add_plot(0, 0, None, names)
        self._headings = HeadingsAxis(columns, QColor(self.theme.text))
        plot.setAxisItems({"top": self._headings})
        plot.hideAxis("bottom")
        plot.showGrid(x=False, y=False)
        names.setPen(QColor(0, 0, 0, 0))
        names.setTextPen(self.theme.text)
        names.setTickFont(plot_font())
        box = plot.getViewBox()
        box.setMouseEnabled(False, False)
        box.invertY(True)
        self.body.layout.setAlignment(plot, Qt.AlignmentFlag.AlignTop)
        box.sigResized.connect(self._fit_range)
        box.sigRangeChanged.connect(self._follow_range)
        self._fit_range()
        return plot

    def show_heading(self, title: str, note: str = "") -> None:
        """With what of the matrix is in sight, where that is not all: a picture of it says so."""
        self._heading = (title, note)
        sides = zip(self._bars, ("columns", "rows"), self._grid, strict=True)
        ranges = [
            f"{axis_name} {bar.value() + 1} to {bar.value() + bar.pageStep()} of {count:,}"
            for bar, axis_name, count in sides
            if title and bar.pageStep() < count
        ]
        super().show_heading(title, "; ".join(filter(None, (note, *ranges))))

    def reset(self) -> None:
        super().reset()
        self._grid, self._headings = (0, 0), None
        for bar in self._bars:
            bar.hide()

    def _fit_range(self, *_: object) -> None:
        """Show as many columns and rows as there is room for, and let the rest be scrolled to."""
        if not self.plots or self._headings is None:
            return
        room = self.plots[0].getViewBox().rect()
        metrics = QFontMetricsF(plot_font())
        least_px = metrics.horizontalAdvance(_WIDEST_FIGURE) + 12.0
        sizes = (room.width() / least_px, room.height() / max(_LEAST_HEIGHT, metrics.height()))
        for bar, count, fitting in zip(self._bars, self._grid, sizes, strict=True):
            visible_count = min(count, max(1, int(fitting)))
            bar.setPageStep(visible_count)
            bar.setRange(0, count - visible_count)
            bar.setVisible(visible_count < count)
        columns = max(1, self._bars[0].pageStep())
        most_px = _HEADINGS_SHARE * self.body.geometry().height()
        box = self.plots[0].getViewBox()
        high_px = self._headings.stand_over(box, room.width() / columns, most_px)
        # Few rows stand on top, and not spread over all of the view.
        self.plots[0].setMaximumHeight(high_px + _MOST_HEIGHT * self._grid[1])
        self._scroll()

    def _scroll(self, *_: object) -> None:
        if self.plots:
            x_range, down = (
                (bar.value() - 0.5, bar.value() + bar.pageStep() - 0.5) for bar in self._bars
            )
            self.plots[0].setRange(xRange=x_range, yRange=down, padding=0)
            self.show_heading(*self._heading)

    def _follow_range(self, *_: object) -> None:
        """Keys that read a tile out of sight have moved the plot to it."""
        for bar, view_range in zip(self._bars, self.plots[0].viewRange(), strict=True):
            bar.setValue(round(view_range[0] + 0.5))
        if self._headings is not None:
            self._headings.update()

    def eventFilter(self, target: QObject, event: QEvent) -> bool:  # noqa: N802
        """The wheel over the tiles turns a bar: nothing in here zooms."""
        if not isinstance(event, QWheelEvent):
            return super().eventFilter(target, event)
        delta = event.angleDelta()
        sideways = delta.x() or event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        bar = self._bars[0] if sideways or self._bars[1].isHidden() else self._bars[1]
        bar.setValue(bar.value() - round((delta.x() or delta.y()) / _NOTCH))
        return True


class TileOverlay(Overlay):
    """Paints tiles, of which each has its row and its column."""

    def in_sight(self, tiles: Sequence[TileT]) -> list[TileT]:
        """Those of which some part is: of thousands only they cost anything."""
        (left, right), (top, bottom) = self._box.viewRange()
        return [
            tile
            for tile in tiles
            if left < tile.column + 0.5 and tile.column - 0.5 < right
            and top < tile.row + 0.5 and tile.row - 0.5 < bottom
        ]  # fmt: skip

    def rect_of(self, row: int, column: int) -> QRectF:
        """Where a tile lies, in this item's pixels."""
        left, right = self.x_px(column - 0.5), self.x_px(column + 0.5)
        top, bottom = self.y_px(row - 0.5), self.y_px(row + 0.5)
        return QRectF(left, top, right - left, bottom - top).adjusted(1.5, 1.5, -1.5, -1.5)
