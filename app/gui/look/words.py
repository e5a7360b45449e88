"""Text of others in labels and tool tips: Qt takes whatever looks like HTML for HTML."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QLabel, QWidget

from app.results.plain import printable


class Words(QLabel):
    """A label that shows its text as it is."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, wrap: bool = False):
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)


def plain_tip(text: str) -> str:
    """The same for a tool tip, line by line, which has no format of its own to be set."""
    plain = "\n".join(map(printable, text.split("\n")))
    if not GuiQt.mightBeRichText(plain):
        return plain
    return f"<p style='white-space: pre'>{escape(plain)}</p>"


def caption(text: str) -> str:
    """The same for a button or a menu, where `&` would underline what follows and a tab part it."""
    return printable(text).replace("&", "&&")
