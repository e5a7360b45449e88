"""The palette: actions, views, cases, models, terms and recent runs by a few letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.text import PlainLabel, plain_tip

_NO_FIT = -1.0
_STARTS, _STARTS_A_WORD, _CONTAINS = 100.0, 80.0, 60.0
_SUBSEQUENCE, _A_GAP = 40.0, 3.0
_LETTER = 0.1
"""Of two texts that fit equally, the shorter one was rather meant."""


def fit(query: str, text: str) -> float | None:
    """Larger is better; None where some word of the query is not in the text, even scattered."""
    name = text.casefold()
    words = query.casefold().split()
    marks = [_score_word(word, name) for word in words]
    if _NO_FIT in marks:
        return None
    return sum(marks) - _LETTER * len(name)


def best(query: str, texts: Sequence[str], most: int) -> list[int]:
    """The places of the texts that fit best, best first; of equal ones the earlier."""
    marks = ((fit(query, text), place) for place, text in enumerate(texts))
    ranking = sorted((-mark, place) for mark, place in marks if mark is not None)
    if not query.strip():
        ranking = [(0.0, place) for place in range(len(texts))]
    return [place for _, place in ranking[:most]]


def _score_word(word: str, text: str) -> float:
    if text.startswith(word):
        return _STARTS
    if re.search(rf"(?<![^\W_]){re.escape(word)}", text):
        return _STARTS_A_WORD
    return _CONTAINS if word in text else _score_scatter(word, text)


def _score_scatter(word: str, text: str) -> float:
    """Its letters one after another, each gap for the worse: `opr` of open run."""
    gaps, last_position = 0, -1
    for letter in word:
        position = text.find(letter, last_position + 1)
        if position < 0:
            return _NO_FIT
        gaps += position > last_position + 1
        last_position = position
    return max(1.0, _SUBSEQUENCE - _A_GAP * gaps)


_MOST = 60
"""Who has not found it among so many types another letter."""
_MOVES = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})


@dataclass(frozen=True, slots=True)
class Entry:
    """`act` does it; `kind` says what it is, `keys` how it is reached without the palette."""

    text: str
    kind: str
    act: Callable[[], object]
    keys: str = ""
    hint: str = ""
    enabled: bool = True


class Palette(QDialog):
    """Over the window that it is opened from, as wide as half of it."""

    def __init__(self, entries: Sequence[Entry], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Find anything")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._entries = entries
        self._search_texts = [f"{entry.text} {entry.kind}" for entry in entries]
        self.line = QLineEdit(placeholderText="An action, view, case, model, term or recent run")
        self.line.setAccessibleName("find anything")
        self.line.setClearButtonEnabled(True)
        self.found = QTreeWidget()
        self.found.setAccessibleName("what was found")
        self.found.setColumnCount(3)
        self.found.setHeaderHidden(True)
        self.found.setRootIsDecorated(False)
        self.found.setUniformRowHeights(True)
        self.found.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.found.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.found.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.hint = PlainLabel(wrap=True)
        self.hint.setProperty("muted", True)
        self.hint.setAccessibleName("what it does")
        self.hint.setMinimumHeight(2 * self.fontMetrics().height())
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.addWidget(self.line)
        layout.addWidget(self.found, 1)
        layout.addWidget(self.hint)
        self.line.textChanged.connect(self._find)
        self.line.returnPressed.connect(self.choose)
        self.line.installEventFilter(self)
        self.found.itemClicked.connect(self.choose)
        self.found.currentItemChanged.connect(self._tell)
        self._find("")
        line = self.fontMetrics().height()
        width = min(parent.width() - 40, max(parent.width() // 2, 36 * line))
        self.resize(width, min(parent.height() - 60, 30 * line))

    def choose(self, *_: object) -> None:
        """Close, then do what is chosen; one that can't be done now stays and says so."""
        entry = self._current()
        if entry is None or not entry.enabled:
            return
        self.accept()
        entry.act()

    def eventFilter(self, target: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        key = event.key() if isinstance(event, QKeyEvent) else None
        if event.type() != QEvent.Type.KeyPress or key not in _MOVES:
            return super().eventFilter(target, event)
        QApplication.sendEvent(self.found, event)
        return True

    def _find(self, query: str) -> None:
        self.found.clear()
        for place in best(query, self._search_texts, _MOST):
            entry = self._entries[place]
            item = QTreeWidgetItem(self.found, [entry.text, entry.kind, entry.keys])
            item.setData(0, Qt.ItemDataRole.UserRole, place)
            item.setToolTip(0, plain_tip(entry.hint or entry.text))
            muted_brush = self.palette().placeholderText()
            for column in (1, 2) if entry.enabled else (0, 1, 2):
                item.setForeground(column, muted_brush)
        first = self.found.topLevelItem(0)
        if first is not None:
            self.found.setCurrentItem(first)
        self._tell()

    def _current(self) -> Entry | None:
        item = self.found.currentItem()
        return self._entries[item.data(0, Qt.ItemDataRole.UserRole)] if item else None

    def _tell(self, *_: object) -> None:
        """What Enter would do, in words below the list and for who hears the line read."""
        entry = self._current()
        if entry is None:
            self.hint.setText("Nothing is called so." if self.line.text() else "")
        else:
            unable = "" if entry.enabled else "It can't be done now. "
            self.hint.setText(f"{unable}{entry.hint}")
        words = (entry.text, entry.kind, entry.keys, entry.hint) if entry else (self.hint.text(),)
        self.line.setAccessibleDescription(", ".join(filter(None, words)))
        accessible_event = QAccessibleEvent(self.line, QAccessible.Event.DescriptionChanged)
        QAccessible.updateAccessibility(accessible_event)
