"""A line of words below the tool bar, each a button; what it has no room for is behind the last.

It is there only while there is something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

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
    """`share` of the width is for the buttons."""

    def __init__(self, name: str, title: str, share: float) -> None:
        super().__init__(title)
        self.setObjectName(name)
        self.setMovable(False)
        self.toggleViewAction().setEnabled(False)
        self._share = share
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
        """As many words as there is room for, each whole: what half a sentence says nobody can
        tell, and the rest stands in full behind the last. Only the first is cut, if it must be."""
        self._menu.clear()
        room, whole = int(self.width() * self._share), [self._width_of(k) for k in self._places]
        left_out = 0
        if sum(whole) > room:
            self.more.setText(f"and {len(whole)} more")
            room -= self.more.sizeHint().width()
            fitting = sum(end <= room for end in accumulate(whole))
            left_out = len(whole) - max(1, fitting)
            if not fitting:
                self._cut_first(whole[0] - room)
        for place in self._places:
            self.buttons[place].setVisible(place < len(whole) - left_out)
        for word in self._words[len(whole) - left_out :]:
            self._menu.addAction(caption(word.in_menu)).triggered.connect(lambda _, w=word: w.act())
        self.more.setText(f"and {left_out} more")
        self.more.setVisible(bool(left_out))

    @property
    def _places(self) -> range:
        return range(len(self._words))

    def _width_of(self, place: int) -> int:
        """Of a button with its whole text, and what lies between it and the next."""
        self.buttons[place].setText(caption(self._words[place].text))
        return self.buttons[place].sizeHint().width() + self._line.spacing()

    def _cut_first(self, by_px: int) -> None:
        first, text = self.buttons[0], self._words[0].text
        room = first.fontMetrics().horizontalAdvance(text) - by_px
        cut = first.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        first.setText(caption(cut))
