"""The bar of the status line: rounds that are done, with how the run stands as its text."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from app.gui.look.words import plain_tip

_LARGEST_SHARE = 0.46
"""Of the status bar: what is left says which case is measured."""


class RoundBar(QProgressBar):
    """As wide as its text where there is room; a longer one loses its end, and has a tool tip."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, textVisible=True)
        self.setAccessibleName("rounds done")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_done(0, 1, "no run")

    def show_done(self, done: int, total: int, text: str, tone: str = "") -> None:
        """`total` 0: nobody knows how much there is to do, and the bar only moves."""
        self.setRange(0, total)
        self.setValue(done)
        shown = text.replace("%", "%%")
        if shown != self.format():
            self.setFormat(shown)
            self.setAccessibleDescription(text)
            self.setToolTip(plain_tip(text))
            self.updateGeometry()
        if tone != self.property("tone"):
            self.setProperty("tone", tone)
            self.style().polish(self)

    def text(self) -> str:
        """What is painted; Qt has no text for a bar that only moves, and cuts at both ends."""
        told = self.format().replace("%%", "%")
        room = max(0, self.width() - 16)
        return self.fontMetrics().elidedText(told, Qt.TextElideMode.ElideRight, room)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        told = self.fontMetrics().horizontalAdvance(self.format()) + 28
        holder = self.parentWidget()
        whole = holder.width() if holder is not None else told
        most = max(160, int(whole * _LARGEST_SHARE))
        return QSize(min(told, most), self.fontMetrics().height() + 6)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(60, self.fontMetrics().height() + 6)
