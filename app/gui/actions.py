"""Every action of the window as a row of a table, and the menus made from it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path

from PySide6.QtGui import QAction, QKeySequence, QUndoStack
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from app.gui.look.preferences import Preferences
from app.gui.look.text import caption, plain_tip
from app.gui.shell import Frame
from app.gui.views import PLACES
from app.run_folder.live_status import run_headline
from exporters import install_layout


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """`slot` is a method of the window or of one of its parts; `icon` is what `glyph` draws."""

    key: str
    text: str
    slot: str
    shortcut: str
    tip: str
    icon: str
    checkable: bool


ACTIONS: dict[str, list[ActionSpec]] = {}
"""By the menu that holds them, each in its order there: the table of `assets/actions.csv`."""
for _row in csv.DictReader(install_layout.asset("actions.csv").read_text("utf-8").splitlines()):
    _is_checkable = bool(_row.pop("checkable"))
    ACTIONS.setdefault(_row.pop("menu"), []).append(ActionSpec(**_row, checkable=_is_checkable))


def build_actions(window: QMainWindow, bar: QMenuBar) -> dict[str, QAction]:
    """Make all actions and the menus that hold them; each calls its method of the window."""
    actions: dict[str, QAction] = {}
    for title, specs in ACTIONS.items():
        submenu = bar.addMenu(title)
        for spec in specs:
            actions[spec.key] = _action(spec, window)
            submenu.addAction(actions[spec.key])
    return actions


def _action(spec: ActionSpec, window: QMainWindow) -> QAction:
    action = QAction(spec.text, window)
    action.setObjectName(spec.key)
    action.setIconText(spec.text.replace("&", "").rstrip("…"))
    action.setShortcut(QKeySequence(spec.shortcut))
    action.setCheckable(spec.checkable)
    keys = f" ({spec.shortcut})" if spec.shortcut else ""
    action.setToolTip(f"{spec.tip}{keys}" if spec.tip else spec.text)
    action.setStatusTip(spec.tip)
    window.addAction(action)  # its keys hold while the header with the menus is hidden, too
    action.triggered.connect(attrgetter(spec.slot)(window))
    return action


def menu(bar: QMenuBar, title: str) -> QMenu:
    """The menu with this title, mnemonic and all."""
    return next(m for m in bar.findChildren(QMenu) if m.title() == title)


_LAST_DIGIT = 9


def add_undo(window: QMainWindow, bar: QMenuBar, stack: QUndoStack) -> dict[str, QAction]:
    """Undo and redo, with the words of the step, first in the Edit menu."""
    edit = menu(bar, "&Edit")
    undo, redo = stack.createUndoAction(window, "&Undo"), stack.createRedoAction(window, "&Redo")
    undo.setShortcut("Ctrl+Z")
    redo.setShortcut("Ctrl+Shift+Z")
    edit.insertActions(edit.actions()[0], [undo, redo])
    return {"undo": undo, "redo": redo}


def add_views(bar: QMenuBar, frame: Frame, actions: dict[str, QAction]) -> None:
    """Every view, the first nine with a key, above what folds panes."""
    view = menu(bar, "&View")
    views = QMenu("&Go to", view)
    for number, place in enumerate(PLACES, 1):
        action = views.addAction(place.title)
        if number <= _LAST_DIGIT:
            action.setShortcut(f"Ctrl+{number}")
        action.triggered.connect(partial(_show, frame, place.key))
        bar.window().addAction(action)
    view.insertMenu(actions["cases"], views)


def _show(frame: Frame, key: str, *_: object) -> None:
    frame.show_key(key)


class RecentMenu(QMenu):
    """Runs that were open, last first; `open_run` is called with the folder of one."""

    def __init__(
        self, window: QMainWindow, preferences: Preferences, open_run: Callable[[Path], None]
    ) -> None:
        super().__init__("&Recent runs", window)
        self._preferences, self._open_run = preferences, open_run
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        """List what is still there."""
        self.clear()
        for folder in self._preferences.recent_runs():
            headline = run_headline(folder)
            run_name = caption(folder.name)
            action = self.addAction(f"{run_name}\t{caption(headline)}" if headline else run_name)
            action.setToolTip(plain_tip(str(folder)))
            action.triggered.connect(lambda _=False, folder=folder: self._open_run(folder))
        if self.isEmpty():
            self.addAction("No run was opened yet").setEnabled(False)
            return
        self.addSeparator()
        self.addAction("Forget all", self._preferences.clear_recent)
