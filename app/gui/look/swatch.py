"""A small square in a series' colour, on a ground of its own: it is seen on a selected row too."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QPainter, QPen, QPixmap

SIDE = 14
_SHARP = 2


def swatch(
    color: QColor, ground: QColor, pattern: Qt.BrushStyle = Qt.BrushStyle.SolidPattern
) -> QIcon:
    """Filled as the series is: hollow if doubted, hatched if simulated; untinted when selected."""
    return _painted(color.name(), ground.name(), pattern)


@lru_cache(maxsize=512)
def _painted(color: str, ground: str, pattern: Qt.BrushStyle) -> QIcon:
    pixmap = QPixmap(SIDE * _SHARP, SIDE * _SHARP)
    pixmap.setDevicePixelRatio(_SHARP)
    pixmap.fill(QColor(ground))
    painter = QPainter(pixmap)
    painter.setPen(QPen(QColor(color), 1.5))
    painter.setBrush(QBrush(QColor(color), pattern))
    painter.drawRect(QRectF(2.0, 2.0, SIDE - 4.0, SIDE - 4.0))
    painter.end()
    icon = QIcon(pixmap)
    icon.addPixmap(pixmap, QIcon.Mode.Selected)
    return icon
