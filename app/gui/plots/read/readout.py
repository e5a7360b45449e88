"""The box in a corner of a view that says what is read, to eyes and to screen readers alike."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.gui.look.plot_font import plot_font
from app.gui.look.theme import Theme
from app.gui.plots.read.reading import Line, Reading

_MARGIN_PX = 10
_MOST_LINES = 9
_MOST_CHARACTERS = 52
_ASIDE_PX = 16


class Readout(QLabel):
    """Lies over a canvas, where the pointer is not; `plain` is what stands in it, as text."""

    def __init__(self, title: str, parent: QWidget, *, at_left: bool = False) -> None:
        super().__init__(parent)
        self._at_left, self._canvas = at_left, parent
        self.plain = ""
        self.setAccessibleName(f"{title} readout")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setWordWrap(True)
        self.setFont(plot_font(-1.0))
        self.hide()

    def apply_theme(self, theme: Theme) -> None:
        self.setStyleSheet(
            f"QLabel {{ background: {theme.raised}; color: {theme.text}; padding: 4px 8px;"
            f" border: 1px solid {theme.border}; border-radius: 4px; }}"
        )

    def tell(
        self, reading: Reading | None, marked: Sequence[Line], within: QRect, pointer: QPoint | None
    ) -> None:
        """Show both, or nothing if there is neither; `within` is where the box may stand."""
        lines = [*_head(reading), *(reading.lines if reading else ()), *marked]
        self.plain = "\n".join(line.text for line in lines)
        self.setAccessibleDescription(self.plain)
        if not lines:
            self.hide()
            return
        left_out = len(lines) - _MOST_LINES
        shown = lines[:_MOST_LINES] if left_out > 0 else lines
        rows = [_html(line, bold=not k and reading is not None) for k, line in enumerate(shown)]
        if left_out > 0:
            rows.append(f"and {left_out} more")
        self.setText("<br>".join(rows))
        self._stand(within, pointer)
        self.show()

    def speak(self) -> None:
        """Have a screen reader say it: what keys or a click have read, not each move."""
        if QAccessible.isActive() and self.plain:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.plain))

    def _stand(self, within: QRect, pointer: QPoint | None) -> None:
        """Beside the pointer's column, or in its own upper corner where keys read."""
        characters = self.fontMetrics().averageCharWidth() * _MOST_CHARACTERS
        width = min(characters, within.width() - 2 * _MARGIN_PX)
        self.setMaximumWidth(max(80, width))
        self.adjustSize()
        below = self._canvas.height() - within.top() - 2 * _MARGIN_PX
        self.resize(self.width(), min(self.height(), max(40, below)))
        corner = within.left() + _MARGIN_PX
        if not self._at_left or pointer is not None:
            corner = within.right() - _MARGIN_PX - self.width()
        if pointer is not None:
            beside = pointer.x() + _ASIDE_PX
            if beside > corner:
                beside = pointer.x() - _ASIDE_PX - self.width()
            corner = max(within.left() + _MARGIN_PX, min(beside, corner))
        self.move(corner, within.top() + _MARGIN_PX)


def _head(reading: Reading | None) -> list[Line]:
    return [Line(reading.title)] if reading else []


def _html(line: Line, *, bold: bool) -> str:
    text = escape(line.text)
    mark = f"<span style='color:{line.color.name()}'>■</span> " if line.color else ""
    return f"<b>{text}</b>" if bold else f"{mark}{text}"
