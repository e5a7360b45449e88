"""What the table of actions can't hold: undo, recent runs and every view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtGui import QAction, QUndoStack
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from app.gui.actions import menu
from app.gui.look.preferences import Preferences
from app.gui.look.words import caption, plain_tip
from app.gui.shell.frame import Frame
from app.gui.views import PLACES
from app.run_folder.live_status import run_headline

_NUMBERED = 9


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
        if number <= _NUMBERED:
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
            told = run_headline(folder)
            named = caption(folder.name)
            action = self.addAction(f"{named}\t{caption(told)}" if told else named)
            action.setToolTip(plain_tip(str(folder)))
            action.triggered.connect(lambda _=False, folder=folder: self._open_run(folder))
        if self.isEmpty():
            self.addAction("No run was opened yet").setEnabled(False)
            return
        self.addSeparator()
        self.addAction("Forget all", self._preferences.clear_recent)
