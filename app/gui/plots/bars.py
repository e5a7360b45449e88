"""Views of horizontal rows with names: a bar for each, or what a layer paints there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme
from app.gui.plots.axes import LONGEST_NAME_PX, NamesAxis, SolidAxis
from app.gui.plots.read.reading import ROW, Brush, Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import SeriesStyle

ROW_HEIGHT = 30
_THICKNESS = 0.62
_TEXT_ROOM = 0.28


@dataclass(frozen=True, slots=True)
class Bar:
    """A value >= 0 with its 95 % interval, or None for a row that says only why it has none.

    `keys` are the cases behind it, `told` is what is read of it; its text where that is ().
    """

    name: str
    value: float | None
    text: str
    style: SeriesStyle
    interval: tuple[float, float] | None = None
    keys: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


def bar_spots(bars: Sequence[Bar], *, log: bool) -> list[Spot]:
    """What is read in each row, at the end of its bar."""
    spots = []
    for row, bar in enumerate(bars):
        value = bar.value or 0.0
        end = math.log10(value) if log and value > 0.0 else value
        opens = Brush("latency", keys=bar.keys) if bar.keys else None
        lines, color = bar.told or (bar.text,), bar.style.color
        spots.append(Spot(end, float(row), bar.name, lines, bar.keys, color, ROW, opens))
    return spots


class BarLayer(Overlay):
    """Bars from zero; on a log axis, which has no zero, dots at the end of a thin line."""

    def __init__(self, plot: pg.PlotItem, bars: Sequence[Bar], theme: Theme, *, log: bool) -> None:
        super().__init__(plot)
        self._bars, self._theme, self._log = tuple(bars), theme, log

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setFont(plot_font())
        metrics = QFontMetricsF(painter.font())
        thickness = abs(self.y_px(1.0) - self.y_px(0.0)) * _THICKNESS
        box = self.boundingRect()
        for row, bar in enumerate(self._bars):
            middle = self.y_px(row)
            if not box.top() - thickness < middle < box.bottom() + thickness:
                continue
            end = box.left()
            if bar.value is not None and (bar.value > 0.0 or not self._log):
                end = self.x_px(math.log10(bar.value) if self._log else bar.value)
                if self._log:
                    self._paint_dot(painter, bar.style, QPointF(end, middle))
                else:
                    top = middle - thickness / 2
                    rect = QRectF(box.left(), top, end - box.left(), thickness)
                    self._paint_bar(painter, bar.style, rect)
                if bar.interval is not None:
                    end = max(end, self._paint_interval(painter, bar.interval, middle, thickness))
            painter.setPen(QColor(self._theme.text if bar.value is not None else self._theme.muted))
            place = QRectF(
                end + 8, middle - metrics.height() / 2, box.right() - end - 8, metrics.height()
            )
            text = metrics.elidedText(bar.text, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_interval(
        self, painter: QPainter, interval: tuple[float, float], middle: float, thickness: float
    ) -> float:
        """A whisker over the bar's end; where it ends itself."""
        low, high = (self.x_px(math.log10(v) if self._log else v) for v in interval)
        painter.setPen(QPen(QColor(self._theme.text), 1.2))
        painter.drawLine(QPointF(low, middle), QPointF(high, middle))
        for x in (low, high):
            reach = thickness / 5
            painter.drawLine(QPointF(x, middle - reach), QPointF(x, middle + reach))
        return high

    def _paint_bar(self, painter: QPainter, style: SeriesStyle, rect: QRectF) -> None:
        painter.setPen(style.pen(1.0))
        painter.setBrush(style.fill(150))
        painter.drawRect(rect)

    def _paint_dot(self, painter: QPainter, style: SeriesStyle, end: QPointF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(style.pen(1.0))
        painter.drawLine(QPointF(self.boundingRect().left(), end.y()), end)
        painter.setPen(QPen(style.color, 1.5))
        painter.setBrush(style.solid())
        painter.drawEllipse(end, 4.5, 4.5)


def frame_bars(plot: pg.PlotItem, bars: Sequence[Bar], *, log: bool) -> None:
    """Set the value axis so that all bars show, with a share of room for the longest's text."""
    values = [bar.value for bar in bars if bar.value]
    values += [end for bar in bars if bar.value and bar.interval for end in bar.interval]
    if log:
        low = math.log10(min(values, default=1.0)) - 0.25
        high = math.log10(max(values, default=10.0))
    else:
        low, high = 0.0, max(values, default=1.0)
    plot.setXRange(low, high + (high - low) * _TEXT_ROOM / (1.0 - _TEXT_ROOM), padding=0)


_LINES_ABOVE = 4.0
"""In heights of a line of text: heading, legend and margins."""
_LINES_A_GROUP = 4.7
"""A group's name, its ticks and its label."""
_NAMES_SHARE, _NAMES_STEP_PX = 0.3, 80.0


def _line_px() -> float:
    return QFontMetricsF(plot_font()).height()


class BarView(ScrolledView):
    """One plot as high as its rows ask for."""

    def show_rows(self, names: Sequence[str], axis: SolidAxis | None, x_label: str) -> pg.PlotItem:
        """An empty plot with a name before each row, the first on top."""
        self.reset()
        self.canvas.setMinimumHeight(self._high_px(1, len(names)))
        return self._add_rows(0, names, axis, x_label)

    def _add_rows(
        self,
        place: int,
        names: Sequence[str],
        axis: SolidAxis | None,
        x_label: str,
        title: str = "",
        neighbour_names: Sequence[str] = (),
    ) -> pg.PlotItem:
        rows = NamesAxis()
        rows.set_names(list(names), neighbour_names, room_px=self._names_px(self.width()))
        plot = self.add_plot(place, 0, axis, rows, x_label=x_label, name=title)
        rows.setTextPen(self.theme.text)
        plot.getViewBox().setMouseEnabled(False, False)
        plot.getViewBox().invertY(True)
        plot.setYRange(-0.7, len(names) - 0.3, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        plot.setMaximumHeight(round(_LINES_A_GROUP * _line_px()) + 2 * ROW_HEIGHT * len(names))
        self.body.layout.setAlignment(plot, Qt.AlignmentFlag.AlignTop)
        self.body.layout.setRowStretchFactor(place, len(names) + 2)
        return plot

    @staticmethod
    def _names_px(width: int) -> float:
        """What names may take of so wide a view, in steps: each draws the rows anew."""
        return max(LONGEST_NAME_PX, _NAMES_STEP_PX * (_NAMES_SHARE * width // _NAMES_STEP_PX))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        if self._names_px(event.size().width()) != self._names_px(event.oldSize().width()):
            self.mark_dirty()

    @staticmethod
    def _high_px(groups: int, rows: int) -> int:
        """What so many groups with so many rows in all need, with all that is written around them:
        what is lower is scrolled, since a plot that gets less draws its bars without a height."""
        return round((_LINES_ABOVE + _LINES_A_GROUP * groups) * _line_px()) + ROW_HEIGHT * rows

    def show_bars(
        self, bars: Sequence[Bar], axis: SolidAxis | None, x_label: str, *, log: bool
    ) -> None:
        self.show_groups({"": bars}, lambda: axis, x_label, log=log)

    def show_groups(
        self,
        groups: Mapping[str, Sequence[Bar]],
        make_axis: Callable[[], SolidAxis | None],
        x_label: str,
        *,
        log: bool,
    ) -> None:
        """Bars below the name of their group, each group over a scale of its own."""
        self.reset()
        rows = sum(map(len, groups.values()))
        self.canvas.setMinimumHeight(self._high_px(len(groups), rows))
        every = [bar.name for bars in groups.values() for bar in bars]
        for place, (title, bars) in enumerate(groups.items()):
            names = [bar.name for bar in bars]
            plot = self._add_rows(place, names, make_axis(), x_label, title, every)
            self.lay(BarLayer(plot, bars, self.theme, log=log))
            frame_bars(plot, bars, log=log)
            self.let_read(plot, SpotReader(bar_spots(bars, log=log)))
