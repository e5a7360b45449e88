"""The program's icon, drawn from its SVG at every size a desktop may ask for."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from exporters import install_layout

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
