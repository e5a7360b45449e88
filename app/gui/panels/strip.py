"""A line of words below the tool bar, each a button; what it has no room for is behind the last.

It is there only while there is something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolBar, QToolButton, QWidget

from app.gui.look.words import caption, plain_tip


@dataclass(frozen=True, slots=True)
class Word:
    """What a button says, what its tip and the menu of the rest say, and what a click does."""

    text: str
    tip: str
    in_menu: str
    act: Callable[[], object]
    tone: str = ""


class Strip(QToolBar):
    """`share` of the width is for the buttons; one that is wider than `widest_px` is shortened
    where all of them would not fit otherwise."""

    def __init__(self, name: str, title: str, share: float, widest_px: int) -> None:
        super().__init__(title)
        self.setObjectName(name)
        self.setMovable(False)
        self.toggleViewAction().setEnabled(False)
        self._share, self._widest_px = share, widest_px
        self._words: list[Word] = []
        self.buttons: list[QToolButton] = []
        self.more = QToolButton()
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._menu = QMenu(self.more)
        self.more.setMenu(self._menu)
        line = QWidget()
        self._line = QHBoxLayout(line)
        self._line.setContentsMargins(4, 0, 4, 0)
        self._line.setSpacing(4)
        self._line.addWidget(self.more)
        self.addWidget(line)
        self.hide()

    def stay(self) -> None:
        """Be there while there is something to say, whatever a restored layout has it."""
        self.setVisible(bool(self._words))

    def say(self, words: Sequence[Word]) -> None:
        """These words, in the place of what was said before."""
        for button in self.buttons:
            self._line.removeWidget(button)
            button.deleteLater()
        self._words = list(words)
        self.buttons = [self._button(word) for word in words]
        first = self._line.indexOf(self.more)
        for place, button in enumerate(self.buttons):
            self._line.insertWidget(first + place, button)
        self.stay()
        self._fit()

    def _button(self, word: Word) -> QToolButton:
        button = QToolButton()
        button.setAccessibleName(word.text)
        button.setToolTip(plain_tip(word.tip))
        button.setProperty("tone", word.tone)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda _: word.act())
        return button

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As many words as there is room for, one at least."""
        room, taken, left_out = self.width() * self._share, 0, 0
        widest_px = max(self._widest_px, int(room / max(1, len(self._words))))
        self._menu.clear()
        for place, (word, button) in enumerate(zip(self._words, self.buttons, strict=True)):
            elided = button.fontMetrics().elidedText
            button.setText(caption(elided(word.text, Qt.TextElideMode.ElideRight, widest_px)))
            taken += button.sizeHint().width() + self._line.spacing()
            fits = place == 0 or taken <= room
            button.setVisible(fits)
            if not fits:
                left_out += 1
                self._menu.addAction(caption(word.in_menu)).triggered.connect(
                    lambda _, w=word: w.act()
                )
        self.more.setText(f"and {left_out} more")
        self.more.setVisible(bool(left_out))
