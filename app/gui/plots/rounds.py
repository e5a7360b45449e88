"""Where rounds begin on a timeline, and their warm-up shaded."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.gui.look.overlay import Overlay
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme
from app.tune.ablation import round_name


def warm_color(theme: Theme) -> QColor:
    """Of what was not counted yet."""
    color = QColor(theme.muted)
    color.setAlpha(60)
    return color


class RoundLayer(Overlay):
    """Warm-up shaded, and where each round begins."""

    def __init__(self, plot: pg.PlotItem, theme: Theme, *, named_row: bool) -> None:
        super().__init__(plot)
        self._theme = theme
        self._untold = 1 if named_row else 0  # the row's own name stands where that would
        self._offsets: tuple[float, ...] = ()
        self._warm: tuple[tuple[float, float], ...] = ()

    def set_rounds(self, offsets_s: Sequence[float], warm_s: Sequence[tuple[float, float]]) -> None:
        """Where rounds begin, and from when to when each warmed up, on the time axis."""
        self._offsets, self._warm = tuple(offsets_s[:-1]), tuple(warm_s)
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        for begin, end in self._warm:
            left, right = self.x_px(begin), self.x_px(end)
            shade = QRectF(left, box.top(), max(1.5, right - left), box.height())
            painter.fillRect(shade & box, warm_color(self._theme))
        painter.setFont(plot_font(-1.5))
        metrics = QFontMetricsF(painter.font())
        for number, offset in enumerate(self._offsets):
            x = self.x_px(offset)
            if not box.left() - 1 <= x <= box.right():
                continue
            painter.setPen(QPen(QColor(self._theme.border), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            if number < self._untold:
                continue
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QPointF(x + 4, box.top() + metrics.ascent() + 2), round_name(number))


class NameLayer(Overlay):
    """Whose row it is, at its upper left end and over its samples."""

    def __init__(self, plot: pg.PlotItem, name: str, theme: Theme) -> None:
        super().__init__(plot)
        self._name, self._theme = name, theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0, bold=True))
        metrics = QFontMetricsF(painter.font())
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideRight, box.width() - 8)
        place = QRectF(
            box.left() + 2, box.top() + 1, metrics.horizontalAdvance(name) + 4, metrics.height()
        )
        ground = QColor(self._theme.base)
        ground.setAlpha(225)
        painter.fillRect(place, ground)
        painter.setPen(QColor(self._theme.text))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, name)
