"""Views of figures of `app/present`: lines, bars, marks, intervals, side by side on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QPolygonF, QResizeEvent

from app.formatting.text import count_tick
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.text import Table
from app.gui.look.theme import Theme
from app.gui.plots.axes import (
    LONGEST_NAME_PX,
    LogAxis,
    NamesAxis,
    PercentAxis,
    SolidAxis,
    TextAxis,
    count_axis,
    time_axis,
)
from app.gui.plots.read.reading import Brush, Line, Place, Reading, Spot, SpotReader
from app.gui.plots.scrolled import ScrolledView
from app.gui.plots.style import SeriesStyle
from app.present.answer import CasesView
from app.present.figure import TICK_TEXTS, Axis, Figure, Mark, Series, Symbol

_BESIDE_PX, _MOST_BESIDE_PX = 6.0, 36.0
_CAP_PX, _ARROW_PX, _RADIUS_PX = 4.0, 6.0, 4.0
_INTERVAL_SHARE, _LEAST_SPAN = 0.35, 0.12
"""By how much of the values' own span their intervals may extend the axis."""
_MARGIN = 0.06
_LABEL_SHARE = 0.24
"""Of the width, for the labels right of all marks."""
Span = tuple[float, float]


def place(axis: Axis, value: float) -> float:
    """Where a value lies on the plot's axis, which holds logarithms of seconds for latencies."""
    if axis.scale != "log":
        return value
    return math.log10(max(value, 1e-12) * (1e-6 if axis.unit == "us" else 1.0))


def axis_item(axis: Axis, side: str) -> SolidAxis:
    """The axis of a plot that prints these values in their units."""
    if axis.names:
        names = NamesAxis(side)
        names.set_names(axis.names)
        return names
    if axis.scale != "log":
        texts = {"us": TICK_TEXTS["us"], "count": count_tick, "per_s": count_tick}
        plain = PercentAxis(side) if axis.unit == "percent" else SolidAxis(side)
        item = TextAxis(side, texts[axis.unit]) if axis.unit in texts else plain
    elif axis.unit == "us":
        item = time_axis(side)
    elif axis.unit == "per_s":
        item = count_axis(side)
    else:
        item = LogAxis(side, lambda value: f"{value:.6g}")
    if axis.ticks:
        item.setTicks([[(place(axis, value), text) for value, text in axis.ticks]])
        item.setStyle(hideOverlappingLabels=True)
    return item


def spans(figures: Sequence[Figure]) -> tuple[Span, Span]:
    """What x and y show of all of these together: every value, and as much of the intervals as
    leaves the values most of the room."""
    return _span(figures, "x"), _span(figures, "y")


def _span(figures: Sequence[Figure], side: str) -> Span:
    values, ends = list[float](), list[float]()
    for figure in figures:
        axis = figure.x if side == "x" else figure.y
        values += [place(axis, end) for end in (axis.least, axis.most) if end is not None]
        if side == "x" and axis.scale != "log":
            bars = (series for series in figure.series if series.kind == "bars")
            values += [mark.start for series in bars for mark in series.marks]
        values += [place(axis, line.value) for line in figure.references if line.axis == side]
        for mark in figure.marks:
            values.append(place(axis, mark.x if side == "x" else mark.y))
            if figure.is_by_name == (side == "x"):
                ends += [place(axis, end) for end in (mark.low, mark.high) if end is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    most = _INTERVAL_SHARE * max(high - low, _LEAST_SPAN)
    low = max(low - most, min([low, *ends]))
    high = min(high + most, max([high, *ends]))
    margin = _MARGIN * max(high - low, _LEAST_SPAN)
    low, high = low - margin, high + margin
    if side == "x" and any(mark.label for figure in figures for mark in figure.marks):
        high += (high - low) * _LABEL_SHARE / (1.0 - _LABEL_SHARE)
    return low, high


class FigureLayer(Overlay):
    """Paints the series of one figure; `styles` are by the name of the series."""

    def __init__(
        self, plot: pg.PlotItem, figure: Figure, styles: Mapping[str, SeriesStyle], theme: Theme
    ) -> None:
        super().__init__(plot, theme)
        self.figure, self._styles = figure, styles
        self._offsets = _places_beside(figure)

    def draw(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_references(painter)
        for series in self.figure.series:
            style = self._styles[series.name]
            points = [self.point(series, mark) for mark in series.marks]
            if series.kind == "line":
                painter.setPen(style.line_pen(1.8))
                painter.drawPolyline(QPolygonF(points))
            painter.setPen(QPen(style.color, 1.4))
            for mark, point in zip(series.marks, points, strict=True):
                self._paint_interval(painter, mark, point)
            if series.kind == "bars":
                self._paint_bars(painter, series, style)
                continue
            for mark, point in zip(series.marks, points, strict=True):
                painter.setPen(QPen(style.color, 1.6))
                hollow = mark.is_hollow or style.simulated
                painter.setBrush(QBrush(QColor(self._theme.base) if hollow else style.color))
                _paint_symbol(painter, series.symbol, point)
        self._paint_labels(painter)

    def _paint_bars(self, painter: QPainter, series: Series, style: SeriesStyle) -> None:
        box, ground = self.boundingRect(), QColor(self._theme.base)
        thickness = abs(self.y_px(1.0) - self.y_px(0.0)) * series.thickness
        for mark in series.marks:
            left, right = (self.x_px(place(self.figure.x, end)) for end in (mark.start, mark.x))
            top = self.y_px(mark.y) - thickness / 2
            bar = QRectF(left, top, max(1.0, right - left), thickness)
            if bar.intersects(box):
                painter.fillRect(bar, ground)
                painter.setPen(style.pen(1.0))
                painter.setBrush(style.fill(150))
                painter.drawRect(bar)

    def _paint_labels(self, painter: QPainter) -> None:
        """Each behind its bar or interval; those of several symbols right of all rows, a column
        for each symbol."""
        box, right = self.boundingRect(), self.boundingRect().right() - 4
        painter.setFont(plot_font())
        painter.setPen(QColor(self._theme.text))
        metrics = QFontMetricsF(painter.font())
        symbols = dict.fromkeys(s.symbol for s in self.figure.series if s.symbol != "none")
        if len(symbols) < 2:
            for mark in (mark for mark in self.figure.marks if mark.label):
                end = self.x_px(place(self.figure.x, max(mark.x, mark.high or mark.x))) + 8
                middle, high = self.y_px(mark.y), metrics.height()
                room = QRectF(end, middle - high / 2, right - end, high)
                text = metrics.elidedText(mark.label, _ELIDE, room.width())
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
            return
        for symbol in reversed(symbols):
            marks = [
                m for s in self.figure.series if s.symbol == symbol for m in s.marks if m.label
            ]
            width = max((metrics.horizontalAdvance(mark.label) for mark in marks), default=0.0)
            if marks:
                head = QRectF(right - width, box.top(), width, metrics.height())
                painter.drawText(head, _RIGHT, _SYMBOL_HEADS.get(symbol, ""))
            for mark in marks:
                middle = self.y_px(place(self.figure.y, mark.y))
                high = metrics.height()
                room = QRectF(right - width, middle - high / 2, width, high) & box
                painter.drawText(room, _RIGHT, mark.label)
            right -= width + 14 if marks else 0.0

    def point(self, series: Series, mark: Mark) -> QPointF:
        """In this item's pixels, moved aside from the marks of other series at its place."""
        x = self.x_px(place(self.figure.x, mark.x))
        y = self.y_px(place(self.figure.y, mark.y))
        return QPointF(x + self._offsets.get(series.name, 0.0), y)

    def _ends(self, mark: Mark, box: QRectF) -> Iterator[tuple[float, float, float]]:
        if mark.low is None or mark.high is None:
            return
        for end in (mark.low, mark.high):
            if self.figure.is_by_name:
                yield box.left() - 1, self.x_px(place(self.figure.x, end)), box.right() + 1
            else:
                yield box.top() - 1, self.y_px(place(self.figure.y, end)), box.bottom() + 1

    def _paint_interval(self, painter: QPainter, mark: Mark, point: QPointF) -> None:
        """A line to both ends with caps; one that is out of sight is an arrow at the edge."""
        box, is_horizontal = self.boundingRect(), self.figure.is_by_name
        for low, center, high in self._ends(mark, box):
            visible_end = min(max(center, low + 1), high - 1)
            end = (
                QPointF(visible_end, point.y())
                if is_horizontal
                else QPointF(point.x(), visible_end)
            )
            painter.drawLine(point, end)
            aside = QPointF(0.0, _CAP_PX) if is_horizontal else QPointF(_CAP_PX, 0.0)
            if visible_end == center:
                painter.drawLine(end - aside, end + aside)
                continue
            inward = math.copysign(
                _ARROW_PX, (point.x() if is_horizontal else point.y()) - visible_end
            )
            back = QPointF(inward, 0.0) if is_horizontal else QPointF(0.0, inward)
            painter.drawPolyline(QPolygonF([end + back - aside, end, end + back + aside]))

    def _paint_references(self, painter: QPainter) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0))
        metrics = QFontMetricsF(painter.font())
        for line in self.figure.references:
            tone = {"ok": self._theme.good, "error": self._theme.bad}
            painter.setPen(QPen(QColor(tone.get(line.tone, self._theme.muted)), 1.2, _DASH_LINE))
            if line.axis == "x":
                position = self.x_px(place(self.figure.x, line.value))
                painter.drawLine(QPointF(position, box.top()), QPointF(position, box.bottom()))
                room = QRectF(
                    position + 4, box.top() + 2, box.right() - position - 6, metrics.height()
                )
            else:
                position = self.y_px(place(self.figure.y, line.value))
                painter.drawLine(QPointF(box.left(), position), QPointF(box.right(), position))
                room = QRectF(
                    box.left() + 4, position - metrics.height(), box.width(), metrics.height()
                )
            painter.setPen(QColor(self._theme.text))
            text = metrics.elidedText(line.label, _ELIDE, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft, text)


_SYMBOL_HEADS: Mapping[Symbol, str] = {"circle": "p50", "diamond": "p99"}
"""What the symbols of a figure of latencies stand for, above their labels."""
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_DASH_LINE = Qt.PenStyle.DashLine
_ELIDE = Qt.TextElideMode.ElideRight


def _places_beside(figure: Figure) -> dict[str, float]:
    """By how many pixels the marks of each series stand aside, where others share their places."""
    if figure.is_by_name:
        return {}
    aside: dict[str, float] = {}
    for symbol in dict.fromkeys(series.symbol for series in figure.series):
        same_symbol = [series for series in figure.series if series.symbol == symbol]
        names_by_x: dict[float, set[str]] = {}
        for series in same_symbol:
            for mark in series.marks:
                names_by_x.setdefault(mark.x, set()).add(series.name)
        crowds = [names for names in names_by_x.values() if len(names) > 1]
        crowded_names = [s.name for s in same_symbol if any(s.name in crowd for crowd in crowds)]
        step = min(_BESIDE_PX, _MOST_BESIDE_PX / max(1, len(crowded_names)))
        middle = (len(crowded_names) - 1) / 2
        for number, name in enumerate(crowded_names):
            aside.setdefault(name, step * (number - middle))
    return aside


def _paint_symbol(painter: QPainter, symbol: Symbol, point: QPointF) -> None:
    r = _RADIUS_PX
    if symbol == "circle":
        painter.drawEllipse(point, r, r)
    elif symbol == "diamond":
        tips = [(0.0, -r - 1), (r + 1, 0.0), (0.0, r + 1), (-r - 1, 0.0)]
        painter.drawPolygon(QPolygonF([point + QPointF(x, y) for x, y in tips]))
    elif symbol == "cross":
        painter.drawLine(point + QPointF(-r, -r), point + QPointF(r, r))
        painter.drawLine(point + QPointF(-r, r), point + QPointF(r, -r))


_PANEL_HEIGHT, _LEAST_WIDTH, _AROUND_PX = 230, 320, 90
_ROW_HEIGHT, _MOST_ROW_HEIGHT = 30, 76
_LINES_ABOVE, _LINES_A_FIGURE = 4.0, 4.7
"""In heights of a line of text: heading, legend and margins; a figure's name, ticks and label."""
_NAMES_SHARE, _NAMES_STEP_PX = 0.3, 80.0


def _row_px(figure: Figure) -> float:
    """A row of thin bars, one below another, is higher than one of a single bar."""
    thinnest = min((s.thickness for s in figure.series if s.kind == "bars"), default=0.6)
    return min(_MOST_ROW_HEIGHT, _ROW_HEIGHT * max(1.0, 0.6 / thinnest))


def _line_px() -> float:
    return QFontMetricsF(plot_font()).height()


class FigureView(ScrolledView):
    """`show_figures` draws them; `styles` are by the name of a series."""

    zooms: ClassVar[bool] = False
    """The first plot is zoomed and moved by the mouse as well as by the keyboard."""

    def show_figures(
        self,
        figures: Sequence[Figure],
        styles: Mapping[str, SeriesStyle],
        *,
        together: bool = True,
    ) -> list[pg.PlotItem]:
        """The plots, each with its layer and its reader: `together` side by side on one scale, else
        one below another, each on a scale of its own."""
        view_range = self.kept_range()
        self.reset()
        columns = self._columns(len(figures)) if together and not figures[0].is_by_name else 1
        self.canvas.setMinimumHeight(self._height(figures, columns))
        neighbour_names = [name for figure in figures for name in figure.y.names]
        plots = []
        for number, figure in enumerate(figures):
            is_leftmost = number % columns == 0
            is_lowest = not together or number >= len(figures) - columns
            plot = self.add_plot(
                *divmod(number, columns),
                axis_item(figure.x, "bottom"),
                axis_item(figure.y, "left"),
                name=figure.title if len(figures) > 1 else "",
                x_label=figure.x.title if is_lowest else "",
                y_label=figure.y.title if is_leftmost else "",
            )
            self._give_room(plot, number, figure, neighbour_names, is_leftmost)
            plot.getViewBox().setMouseEnabled(self.zooms, self.zooms and not figure.is_by_name)
            self.lay(FigureLayer(plot, figure, styles, self.theme))
            self.let_read(plot, FigureReader(figure, styles))
            self._show_range(plot, figure, *spans(figures if together else [figure]))
            plots.append(plot)
        if self.zooms and view_range is not None:
            plots[0].setRange(xRange=view_range[0], yRange=view_range[1], padding=0)
        return plots

    def _give_room(
        self,
        plot: pg.PlotItem,
        number: int,
        figure: Figure,
        neighbour_names: Sequence[str],
        is_leftmost: bool,
    ) -> None:
        left = plot.getAxis("left")
        if isinstance(left, NamesAxis):
            room_px = self._names_px(self.width())
            left.set_names(figure.y.names, neighbour_names, room_px=room_px)
            left.setTextPen(self.theme.text)
            plot.showGrid(x=True, y=False, alpha=0.35)
            self.body.layout.setAlignment(plot, Qt.AlignmentFlag.AlignTop)
            self.body.layout.setRowStretchFactor(number, len(figure.y.names) + 2)
            rows_px = 2 * _row_px(figure) * len(figure.y.names)
            plot.setMaximumHeight(round(_LINES_A_FIGURE * _line_px() + rows_px))
        else:
            left.setWidth(76 if is_leftmost else 58)

    @staticmethod
    def _show_range(plot: pg.PlotItem, figure: Figure, x: Span, y: Span) -> None:
        plot.setXRange(*x, padding=0)
        if figure.is_by_name:
            plot.getViewBox().invertY(True)
            columns = len({series.symbol for series in figure.series})
            head = 1.3 if columns > 1 and any(mark.label for mark in figure.marks) else 0.7
            plot.setYRange(-head, len(figure.y.names) - 0.3, padding=0)
        else:
            plot.setYRange(*y, padding=0)

    def _columns(self, figures: int) -> int:
        """How many plots stand beside each other."""
        return min(max(1, self.width() // _LEAST_WIDTH), figures)

    @staticmethod
    def _height(figures: Sequence[Figure], columns: int) -> int:
        """What is lower is scrolled: a plot that gets less draws its bars without a height."""
        if figures[0].is_by_name:
            rows = sum(_row_px(figure) * len(figure.y.names) for figure in figures)
            return round((_LINES_ABOVE + _LINES_A_FIGURE * len(figures)) * _line_px() + rows)
        return _AROUND_PX + _PANEL_HEIGHT * -(-len(figures) // columns)

    @staticmethod
    def _names_px(width: int) -> float:
        """What names may take of so wide a view, in steps: each draws the rows anew."""
        return max(LONGEST_NAME_PX, _NAMES_STEP_PX * (_NAMES_SHARE * width // _NAMES_STEP_PX))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        width, former_width = event.size().width(), event.oldSize().width()
        has_other_columns = width // _LEAST_WIDTH != former_width // _LEAST_WIDTH
        if has_other_columns or self._names_px(width) != self._names_px(former_width):
            self.mark_dirty()  # more or fewer plots fit beside each other, or longer names


class FigureReader(SpotReader):
    """The nearest mark, with all others of its place on the axis below it, the highest first; of
    bars the one alone."""

    def __init__(self, figure: Figure, styles: Mapping[str, SeriesStyle]) -> None:
        self._by_name = figure.is_by_name
        self._alone = any(series.kind == "bars" for series in figure.series)
        spots = [
            _spot(figure, mark, number, series, styles[series.name])
            for series in figure.series
            for number, mark in enumerate(series.marks)
        ]
        super().__init__(spots, by_row=self._by_name)

    def at(self, place: Place) -> Reading | None:
        reading = super().at(place)
        if reading is None or self._alone:
            return reading
        near_spots = [spot for spot in self._spots if self._shares(spot, reading)]
        near_spots.sort(key=lambda spot: spot.x if self._by_name else -spot.y)
        lines = tuple(Line(text, spot.color) for spot in near_spots for text in spot.lines)
        return Reading(reading.title, lines, reading.x, reading.y, reading.keys, reading.opens)

    def _shares(self, spot: Spot, reading: Reading) -> bool:
        return spot.y == reading.y if self._by_name else spot.x == reading.x


def _spot(figure: Figure, mark: Mark, number: int, series: Series, style: SeriesStyle) -> Spot:
    """A click chooses the case, a double click shows its iterations; a series has one case for all
    of its marks, or one for each."""
    cases = series.cases
    keys = (cases[number] if len(cases) > 1 else cases[0],) if cases else ()
    opens = Brush("latency", keys=keys) if keys else None
    x, y = place(figure.x, mark.x), place(figure.y, mark.y)
    reach = (0.0, 0.5 if figure.is_by_name else 0.0)
    if series.kind == "bars":
        start = place(figure.x, mark.start)
        x, reach = (start + x) / 2, ((x - start) / 2, 0.5 * min(1.0, series.thickness / 0.6))
    title = figure.y.names[round(mark.y)] if figure.is_by_name else _title(figure, mark)
    return Spot(x, y, title, (mark.text,), keys, style.color, reach, opens)


def _title(figure: Figure, mark: Mark) -> str:
    x_text = next((text for value, text in figure.x.ticks if value == mark.x), f"{mark.x:.6g}")
    return f"{figure.x.title} {x_text}"


class CapabilityView(FigureView):
    """Draws what `view` makes of the cases that are shown."""

    def __init__(self, view: CasesView) -> None:
        self.view, self.title, self.hint = view, view.title, view.hint
        super().__init__()

    def offers(self) -> bool:
        return self.view.offers(self._all_series)

    def draw(self) -> str:
        figures = self.view.figures(self.series)
        if not figures:
            return self.view.missing
        looks = self.styles(fading=False)
        lines = [line for figure in figures for line in figure.series]
        styles = {line.name: looks[line.cases[0]].of_line() for line in lines}
        self.show_figures(figures, styles, together=False)
        self.show_legend([])
        self.show_heading(*self.view.heading(self.series))
        return ""

    def table(self) -> Table:
        columns, rows = self.view.table(self.series)
        return [*columns], [[*row] for row in rows]
