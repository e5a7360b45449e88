"""Icons: lines on a grid of 24, the program's own, and squares in the colours of series."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtSvg import QSvgRenderer

from exporters import install_layout

_SIDE = 48
"""Pixels of a glyph: crisp at twice the size at which it is shown."""

GLYPHS: dict[str, str] = {
    "run": '<path d="M7 4.5v15l12-7.5z" fill="COLOR"/>',
    "pause": '<path d="M8.5 5v14M15.5 5v14"/>',
    "stop": '<rect x="6" y="6" width="12" height="12" rx="1.5"/>',
    "new": '<path d="M12 5v14M5 12h14"/>',
    "find": '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.5"/>',
    "open": '<path d="M3 18V6h6l2 2.5h10V18z"/>',
    "warning": '<path d="M12 4l9 16H3z"/><path d="M12 10v4.5M12 17.4h.01"/>',
}
"""SVG inside a stroked group; COLOR is where a shape is filled."""


@lru_cache(maxsize=256)
def glyph(name: str, color: str, text: str) -> QIcon:
    """An icon of `GLYPHS` in #rrggbb colours."""
    icon = QIcon()
    for mode, hue in ((QIcon.Mode.Normal, color), (QIcon.Mode.Disabled, text)):
        pixmap = QPixmap(_SIDE, _SIDE)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        QSvgRenderer(_svg(name, hue)).render(painter)
        painter.end()
        icon.addPixmap(pixmap, mode)
    return icon


def _svg(name: str, color: str) -> QByteArray:
    shapes = GLYPHS[name].replace("COLOR", color)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g fill="none" '
        f'stroke="{color}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">'
        f"{shapes}</g></svg>"
    )
    return QByteArray(text.encode())


_SIZES = (16, 24, 32, 48, 64, 128, 256)


def icon_bytes() -> QByteArray:
    """The SVG as it ships."""
    return QByteArray(install_layout.asset("icons", "graphlap.svg").read_bytes())


def app_icon() -> QIcon:
    """Needs a QGuiApplication."""
    renderer = QSvgRenderer(icon_bytes())
    icon = QIcon()
    for size in _SIZES:
        pixmap = QPixmap(size, size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        icon.addPixmap(pixmap)
    return icon


SIDE = 14
_SHARP = 2


def swatch(
    color: QColor, ground: QColor, pattern: Qt.BrushStyle = Qt.BrushStyle.SolidPattern
) -> QIcon:
    """Filled as the series is: hollow if doubted, hatched if simulated; untinted when selected."""
    return _paint_icon(color.name(), ground.name(), pattern)


@lru_cache(maxsize=512)
def _paint_icon(color: str, ground: str, pattern: Qt.BrushStyle) -> QIcon:
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
