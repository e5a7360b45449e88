"""The palette, what it finds, and the sheets of shortcuts and terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMessageBox,
    QScrollArea,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.gui.editor.pickers import ModelPicker
from app.gui.look.controls import lay, named
from app.gui.look.text import TERMS, PlainLabel, plain_tip
from app.gui.plots.base import PlotView
from app.gui.run_feed import RunFeed
from app.gui.shell import Frame
from app.gui.tables.results import ResultsTable
from app.gui.views import VIEWS
from app.machine.environment import graphlap_version
from app.run_folder.live_status import run_headline
from exporters.models import catalogue

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
        self.found = named(QTreeWidget(), "what was found")
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
        self.hint = named(PlainLabel(wrap=True), "what it does", muted=True)
        self.hint.setMinimumHeight(2 * self.fontMetrics().height())
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        lay(QVBoxLayout(self), self.line, (self.found, 1), self.hint, margins=None)
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


PANES = {
    "results": "Details table",
    "queue": "Queue",
    "log": "Log",
    "series": "List of cases",
    "welcome": "Start page",
    "editor": "New sweep",
}

Source = Callable[[], Iterable[Entry]]


class Finder(QObject):
    """Asks each source, in their order, whenever it is opened."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.sources: Sequence[Source] = ()
        """Of what fits equally, that of an earlier source is found first."""

    def entries(self) -> list[Entry]:
        return [entry for source in self.sources for entry in source()]

    @Slot()
    def find_anything(self) -> None:
        Palette(self.entries(), self._window).open()


def of_actions(actions: Mapping[str, QAction]) -> Iterator[Entry]:
    """All that menus hold; what can't be done now is listed too, and says so."""
    for action in actions.values():
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        text = action.text().replace("&", "").rstrip("…")
        yield Entry(text, "action", action.trigger, keys, action.statusTip(), action.isEnabled())


def of_views(views: Mapping[str, PlotView], frame: Frame) -> Iterator[Entry]:
    """Every view, then the panes and pages beside them."""
    for spec in VIEWS:
        show = partial(frame.show_key, spec.key)
        yield Entry(spec.title, "view", show, "", views[spec.key].hint)
    for key, title in PANES.items():
        yield Entry(title, "panel", partial(frame.show_key, key))


def of_cases(feed: RunFeed, table: ResultsTable) -> Iterator[Entry]:
    """Those of the open run; choosing one selects its row."""

    def choose(key: str) -> None:
        table.filter_by("")
        table.select([key])

    for case_series in feed.state.series if feed.state else ():
        hint = f"Select it: plots show this case ({case_series.status.replace('_', ' ')})"
        yield Entry(case_series.label, "case", partial(choose, case_series.key), "", hint)


def of_models(picker: ModelPicker, show: Callable[[], None]) -> Iterator[Entry]:
    """The catalogue's; choosing one checks it in the editor."""

    def choose(name: str) -> None:
        show()
        picker.choose(name)

    for suite, definitions in catalogue.by_suite().items():
        for definition in definitions:
            hint = f"Add it to the sweep (suite {suite}, family {definition.family})"
            yield Entry(definition.name, "model", partial(choose, definition.name), "", hint)


def of_runs(folders: Iterable[Path], open_run: Callable[[Path], None]) -> Iterator[Entry]:
    for folder in folders:
        headline = run_headline(folder) or str(folder)
        yield Entry(folder.name, "recent run", partial(open_run, folder), "", headline)


def of_terms(show: Callable[[], object]) -> Iterator[Entry]:
    for term, sentence in sorted(TERMS.items()):
        yield Entry(term, "term", show, "", sentence)


ELSEWHERE = (
    ("Ctrl+0", "Show all data again (in a plot)"),
    ("Arrow keys", "Read the next bin, sample or mark (in a plot)"),
    ("Shift+drag, Shift+arrow keys", "Mark a range (in the histogram or the timeline)"),
    ("Esc", "Unpin what is read, drop the marked range (in a plot)"),
    ("Ctrl+F", "Filter (in the results table)"),
    ("Ctrl+B", "Baseline row (in the results table)"),
    ("Ctrl+C", "Copy rows (in the results table), or what is read (in a plot)"),
)


class Sheet(QDialog):
    """Rows of a bold word and a sentence; closes with Escape."""

    def __init__(self, title: str, rows: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        cells = "".join(
            f"<tr><td style='padding:4px 18px 4px 0; white-space:nowrap'><b>{word}</b></td>"
            f"<td style='padding:4px 0'>{text}</td></tr>"
            for word, text in rows
        )
        self.text = QLabel(f"<table>{cells}</table>", wordWrap=True)
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.text.setContentsMargins(14, 10, 14, 10)
        self.text.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.text.setAccessibleName(title)
        area = QScrollArea(widgetResizable=True)
        area.setWidget(self.text)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        lay(QVBoxLayout(self), area, buttons, margins=None)
        self.resize(560, 560)


def shortcut_rows(actions: Sequence[QAction]) -> list[tuple[str, str]]:
    """Every action that has a shortcut, with those that only work inside one view."""
    native = QKeySequence.SequenceFormat.NativeText
    rows = [
        (action.shortcut().toString(native), action.text().replace("&", "").rstrip("…"))
        for action in actions
        if not action.shortcut().isEmpty()
    ]
    return [*rows, *ELSEWHERE]


class HelpCommands(QObject):
    """`actions` are all of the window's, which the sheet of shortcuts lists."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.actions: Mapping[str, QAction] = {}

    @Slot()
    def show_shortcuts(self) -> None:
        rows = shortcut_rows(list(self.actions.values()))
        Sheet("Keyboard shortcuts", rows, self._window).open()

    @Slot()
    def show_terms(self) -> None:
        Sheet("Terms", sorted(TERMS.items()), self._window).open()

    @Slot()
    def show_about(self) -> None:
        QMessageBox.about(
            self._window,
            "About Graphlap",
            f"<b>Graphlap {graphlap_version()}</b><p>Lap times for ONNX graphs.</p>",
        )
