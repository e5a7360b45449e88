"""Text of others in labels and tool tips: Qt takes whatever looks like HTML for HTML."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.formatting.text import printable


class PlainLabel(QLabel):
    """A label that shows its text as it is."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, wrap: bool = False):
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)


class Line(PlainLabel):
    """Words in a line that take no room of their own: what there is too little for ends in …, and
    is whole in the tip."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def say(self, text: str) -> None:
        self.setText(text)
        self.setToolTip(plain_tip(text))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        place, metrics = self.contentsRect(), self.fontMetrics()
        told = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, place.width())
        role = self.foregroundRole()
        painter, middle = QPainter(self), Qt.AlignmentFlag.AlignVCenter
        self.style().drawItemText(painter, place, middle, self.palette(), True, told, role)
        painter.end()


def plain_tip(text: str) -> str:
    """The same for a tool tip, line by line, which has no format of its own to be set."""
    plain = "\n".join(map(printable, text.split("\n")))
    if not GuiQt.mightBeRichText(plain):
        return plain
    return f"<p style='white-space: pre'>{escape(plain)}</p>"


def caption(text: str) -> str:
    """The same for a button or a menu, where `&` would underline what follows and a tab part it."""
    return printable(text).replace("&", "&&")
