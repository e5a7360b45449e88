"""The terms of the filter as chips: each can be taken away alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QToolButton, QWidget

from app.gui.look.flow import FlowLayout
from app.gui.tables.query import words

_LEAST = 2
"""One term alone is emptied by the box's own button."""


class Chips(QWidget):
    """`left` carries the text of the filter without the term that was clicked."""

    left = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._row = FlowLayout(self)
        self._words: list[str] = []
        self.buttons: list[QToolButton] = []
        self.hide()

    def show_text(self, text: str) -> None:
        """A chip for each term of this filter."""
        found = words(text)
        if found == self._words:
            return
        self._words = found
        for button in self.buttons:
            self._row.removeWidget(button)
            button.deleteLater()
        self.buttons = [self._chip(place, word) for place, word in enumerate(found)]
        for button in self.buttons:
            self._row.addWidget(button)
        self.setVisible(len(found) >= _LEAST)
        self.updateGeometry()

    def _chip(self, place: int, word: str) -> QToolButton:
        chip = QToolButton()
        chip.setText(f"{word}  ✕")
        chip.setAccessibleName(f"Take {word} out of the filter")
        chip.setToolTip("Take this term out of the filter.")
        chip.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        chip.clicked.connect(partial(self._take_out, self._words, place))
        return chip

    def _take_out(self, all_of_them: Sequence[str], place: int, *_: object) -> None:
        self.left.emit(" ".join(word for k, word in enumerate(all_of_them) if k != place))
