"""One line between tool bar and plots: what is wrong with the run, each word a filter of the table.

It is there only while there is something to say; what it has no room for is behind its last word.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)

from app.results.doubts import Doubt, doubts
from app.results.follow.state import RunState

_WIDEST_PX = 340


class TrustStrip(QToolBar):
    """`asked` carries the filter of the doubt that was clicked, "" for none any more."""

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__("What is wrong with the run")
        self.setObjectName("trust")
        self.setMovable(False)
        self.toggleViewAction().setEnabled(False)
        self._doubts: list[Doubt] = []
        self._cases = 0
        self._query = ""
        self._told: tuple[object, ...] = ()
        self.buttons: list[QToolButton] = []
        self.remedy = QLabel()
        self.remedy.setProperty("muted", True)
        self.remedy.setAccessibleName("remedy")
        self.remedy.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
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
        self._line.addWidget(self.remedy, 1)
        self.addWidget(line)
        self.hide()

    def show_run(self, state: RunState) -> None:
        """What is to be said of this run, as it stands."""
        stamp = (state.folder, state.revision, state.alive)
        if stamp != self._told:
            self._told = stamp
            self._show(doubts(state.series, state.environments, not state.alive), len(state.series))

    def show_query(self, query: str) -> None:
        """What the table is filtered by now: the doubt that says the same is pressed."""
        self._query = query
        for doubt, button in zip(self._doubts, self.buttons, strict=True):
            button.setChecked(bool(query) and doubt.query == query)
        chosen = [doubt for doubt in self._doubts if doubt.query == query] or self._doubts
        self.remedy.setText(chosen[0].remedy if chosen else "")
        self.remedy.setToolTip(self.remedy.text())

    def stay(self) -> None:
        """Be there while there is something to say, whatever a restored layout has it."""
        self.setVisible(bool(self._doubts))

    def _show(self, found: list[Doubt], cases: int) -> None:
        if (found, cases) == (self._doubts, self._cases):
            return
        self._doubts, self._cases = found, cases
        for button in self.buttons:
            self._line.removeWidget(button)
            button.deleteLater()
        self.buttons = [self._button(doubt) for doubt in found]
        for place, button in enumerate(self.buttons):
            self._line.insertWidget(place, button)
        self.show_query(self._query)
        self.stay()
        self._fit()

    def _button(self, doubt: Doubt) -> QToolButton:
        button = QToolButton()
        text = self._text(doubt)
        button.setText(
            button.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, _WIDEST_PX)
        )
        button.setAccessibleName(text)
        button.setToolTip("\n".join(filter(None, (text, doubt.remedy, "Click: show these rows"))))
        button.setCheckable(True)
        button.setProperty("tone", doubt.tone)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(partial(self._clicked, doubt))
        return button

    def _text(self, doubt: Doubt) -> str:
        of = "all" if doubt.rows == self._cases > 1 else f"{doubt.rows:,} of {self._cases:,}"
        return f"{of}: {doubt.what}"

    def _clicked(self, doubt: Doubt, *_: object) -> None:
        self.asked.emit("" if self._query == doubt.query else doubt.query)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As many doubts as there is room for beside a third of the width for the remedy."""
        room, taken, left_out = self.width() * 2 // 3, 0, 0
        self._menu.clear()
        for place, (doubt, button) in enumerate(zip(self._doubts, self.buttons, strict=True)):
            taken += button.sizeHint().width() + self._line.spacing()
            fits = place == 0 or taken <= room
            button.setVisible(fits)
            if not fits:
                left_out += 1
                remedy = f" ({doubt.remedy})" if doubt.remedy else ""
                action = self._menu.addAction(f"{self._text(doubt)}{remedy}")
                action.triggered.connect(partial(self._clicked, doubt))
        self.more.setText(f"and {left_out} more")
        self.more.setVisible(bool(left_out))
