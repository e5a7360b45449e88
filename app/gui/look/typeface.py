"""The window's typeface, Inter with tabular figures, and its five sizes.

Sizes are in pixels of a screen at 96 dots an inch. They grow with the desktop's own font, so that
somebody who has chosen larger letters has them here too.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo
from PySide6.QtWidgets import QApplication

from exporters import install_layout

FAMILY = "Inter Tabular"
Size = Literal["caption", "small", "body", "heading", "title"]
SIZES: dict[Size, int] = {"caption": 11, "small": 12, "body": 13, "heading": 16, "title": 22}
_FILES = ("InterTabular-Regular.ttf", "InterTabular-SemiBold.ttf")


def use_typeface() -> None:
    """Make the bundled typeface the application's, once; without its files the desktop's stays."""
    before = QApplication.font()
    if before.family() == FAMILY:
        return
    loaded = [
        QFontDatabase.addApplicationFontFromData(install_layout.asset("fonts", name).read_bytes())
        for name in _FILES
    ]
    font = QFont(before)
    if min(loaded) >= 0:
        font.setFamily(FAMILY)
    pixels = QFontInfo(before).pixelSize()
    grown = max(1.0, SIZES["body"] / max(1, pixels))
    font.setPointSizeF(before.pointSizeF() * grown)
    QApplication.setFont(font)


def points(size: Size) -> float:
    """A size of the scale in points, beside the application's body text."""
    return QApplication.font().pointSizeF() * SIZES[size] / SIZES["body"]


def font(size: Size, *, bold: bool = False) -> QFont:
    """The application's font in a size of the scale."""
    made = QFont(QApplication.font())
    made.setPointSizeF(points(size))
    made.setBold(bold)
    return made
