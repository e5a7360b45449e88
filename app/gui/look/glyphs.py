"""Small icons of the tool bar, painted in a theme's own colours."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap, QPolygonF

_SIDE = 48
"""Pixels of a glyph: crisp at twice a tool bar's icon size."""


def _play(p: QPainter) -> None:
    p.drawPolygon(QPolygonF([QPointF(14, 9), QPointF(39, 24), QPointF(14, 39)]))


def _pause(p: QPainter) -> None:
    p.drawRoundedRect(QRectF(12, 10, 8, 28), 2, 2)
    p.drawRoundedRect(QRectF(28, 10, 8, 28), 2, 2)


def _stop(p: QPainter) -> None:
    p.drawRoundedRect(QRectF(12, 12, 24, 24), 3, 3)


def _open(p: QPainter) -> None:
    p.drawPolygon(
        QPolygonF(
            [QPointF(x, y) for x, y in ((6, 12), (19, 12), (23, 17), (42, 17), (42, 38), (6, 38))]
        )
    )


def _measure(p: QPainter) -> None:
    for x, height in ((8, 12), (16, 27), (24, 18), (32, 9)):
        p.drawRect(QRectF(x, 38 - height, 6, height))


def _editor(p: QPainter) -> None:
    for y, end in ((12, 30), (22, 24), (32, 34)):
        p.drawRect(QRectF(8, y, 5, 5))
        p.drawRect(QRectF(17, y, end - 11, 5))


def _results(p: QPainter) -> None:
    for y in (11, 20, 29):
        p.drawRect(QRectF(8, y, 32, 6))


def _inspect(p: QPainter) -> None:
    for x, y in ((24, 10), (12, 34), (36, 34)):
        p.drawEllipse(QPointF(x, y), 6, 6)
    p.setPen(QPen(p.brush().color(), 3))
    p.drawLine(QPointF(24, 12), QPointF(12, 32))
    p.drawLine(QPointF(24, 12), QPointF(36, 32))


GLYPHS: dict[str, Callable[[QPainter], None]] = {
    "run": _play,
    "pause": _pause,
    "stop": _stop,
    "open": _open,
    "editor": _editor,
    "measure": _measure,
    "results": _results,
    "inspect": _inspect,
}


def glyph(name: str, color: str, disabled: str) -> QIcon:
    """An icon of `GLYPHS` in #rrggbb colours."""
    icon = QIcon()
    for mode, hue in ((QIcon.Mode.Normal, color), (QIcon.Mode.Disabled, disabled)):
        pixmap = QPixmap(_SIDE, _SIDE)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(hue))
        GLYPHS[name](painter)
        painter.end()
        icon.addPixmap(pixmap, mode)
    return icon
