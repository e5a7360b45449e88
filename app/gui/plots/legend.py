"""A heading and a legend that lie in the plot's own scene, so that exports carry them.

Both keep to the width they are given: the heading is elided, the legend flows into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyqtgraph.graphicsItems.ScatterPlotItem import Symbols
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsWidget, QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import plot_font, write_line
from app.gui.look.theme import LIGHT, Theme

_SWATCH_PX, _GAP_PX, _ROWS = 26.0, 22.0, 3
_SHARE = 0.22
"""Of the height: in a low window with large letters three rows once left no room for the plot."""


class Heading(QGraphicsWidget):
    """A bold title and a quiet line after it."""

    def __init__(self) -> None:
        super().__init__()
        self._title = self._note = ""
        self._theme = LIGHT
        height = max(24.0, QFontMetricsF(plot_font(1.0, bold=True)).height())
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)

    def set_text(self, title: str, note: str, theme: Theme) -> None:
        self._title, self._note, self._theme = title, note, theme
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        rect = self.rect().adjusted(6, 0, -6, 0)
        bold, theme = plot_font(1.0, bold=True), self._theme
        wide = write_line(painter, rect, self._title, bold, theme.text)
        rect.setLeft(rect.left() + wide + 12)
        write_line(painter, rect, self._note, plot_font(), theme.muted)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a legend: a filled box, a line, a symbol, or any of them together.

    `of_series` stands for one series; these are not repeated beside a list of them.
    """

    text: str
    pen: QPen | None = None
    brush: QBrush | None = None
    symbol: str = ""
    of_series: bool = False


class Legend(QGraphicsWidget):
    """Entries in as many rows as the width asks for, at most three and fewer where it is low; the
    rest is counted."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: tuple[Entry, ...] = ()
        self._theme = LIGHT
        self._set_height(0.0)

    def set_entries(self, entries: Sequence[Entry], theme: Theme) -> None:
        self._entries, self._theme = tuple(entries), theme
        self.fit()
        self.update()

    def resizeEvent(self, event: object) -> None:  # noqa: N802
        self.fit()

    def _set_height(self, height: float) -> None:
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)
        self.setPreferredHeight(height)

    def fit(self) -> None:
        """Be as high as the rows that there is room for."""
        _, rows = self._places()
        height = rows * self._row_height() + (4.0 if rows else 0.0)
        if height != self.minimumHeight():
            self._set_height(height)

    @staticmethod
    def _row_height() -> float:
        return QFontMetricsF(plot_font()).height() + 4.0

    def _places(self) -> tuple[list[QPointF], int]:
        """Where each entry that fits begins, and the number of rows."""
        places: list[QPointF] = []
        x, row, most = 8.0, 0, self._most_rows()
        for entry in self._entries:
            width = self._width_of(entry)
            if x > 8.0 and x + width > self.size().width():
                x, row = 8.0, row + 1
                if row == most:
                    return places, most
            places.append(QPointF(x, row * self._row_height()))
            x += width + _GAP_PX
        return places, row + 1 if places else 0

    @staticmethod
    def _width_of(entry: Entry) -> float:
        return _SWATCH_PX + 6.0 + QFontMetricsF(plot_font()).horizontalAdvance(entry.text)

    def _most_rows(self) -> int:
        holder = self.parentWidget()
        if holder is None:
            return _ROWS
        return min(_ROWS, max(1, int(_SHARE * holder.size().height() / self._row_height())))

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        places, _ = self._places()
        left_out = len(self._entries) - len(places)
        end = QPointF()
        if left_out:
            last = self._entries[len(places) - 1]
            end = places[-1] + QPointF(self._width_of(last) + _GAP_PX, 0.0)
            told_px = QFontMetricsF(plot_font()).horizontalAdvance(f"and {left_out} more")
            if end.x() + told_px > self.size().width():
                left_out += 1
                end = places.pop()
        painter.setFont(plot_font())
        for entry, place in zip(self._entries, places, strict=False):
            self._paint_entry(painter, entry, place)
        if left_out:
            painter.setPen(QColor(self._theme.muted))
            self._paint_text(painter, end, f"and {left_out} more")

    def _paint_entry(self, painter: QPainter, entry: Entry, place: QPointF) -> None:
        height = self._row_height()
        middle = place.y() + height / 2.0
        if entry.brush is not None and not entry.symbol:
            painter.setPen(entry.pen or QPen(Qt.PenStyle.NoPen))
            painter.setBrush(entry.brush)
            painter.drawRect(QRectF(place.x(), place.y() + 4, _SWATCH_PX, height - 8))
        elif entry.pen is not None and not entry.symbol:
            painter.setPen(entry.pen)
            painter.drawLine(QPointF(place.x(), middle), QPointF(place.x() + _SWATCH_PX, middle))
        elif entry.symbol:
            if entry.pen is not None:
                painter.setPen(entry.pen)
                painter.drawLine(
                    QPointF(place.x(), middle), QPointF(place.x() + _SWATCH_PX, middle)
                )
            draw_symbol(painter, entry.symbol, QPointF(place.x() + _SWATCH_PX / 2, middle), entry)
        painter.setPen(QColor(self._theme.text))
        self._paint_text(painter, place + QPointF(_SWATCH_PX + 6.0, 0.0), entry.text)

    def _paint_text(self, painter: QPainter, place: QPointF, text: str) -> None:
        size = QSizeF(self.size().width() - place.x(), self._row_height())
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRectF(place, size), flags, text)


def draw_symbol(painter: QPainter, symbol: str, point: QPointF, entry: Entry) -> None:
    """One of pyqtgraph's symbols, ten pixels wide, in the entry's pen."""
    painter.save()
    painter.translate(point)
    painter.scale(10.0, 10.0)
    color = (entry.pen or entry.brush or QBrush()).color()
    pen = QPen(color, 1.5)
    pen.setCosmetic(True)
    painter.setPen(pen)
    painter.setBrush(entry.brush or QBrush(color))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.drawPath(Symbols[symbol])
    painter.restore()
