"""What the table of actions can't hold: undo, recent runs, every view and every panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtGui import QAction, QActionGroup, QUndoStack
from PySide6.QtWidgets import QMainWindow, QMenu

from app.gui.actions import menu
from app.gui.docks import Docks
from app.gui.look.preferences import Preferences
from app.gui.look.words import caption, plain_tip
from app.gui.views import PAGES, VIEWS
from app.run_folder.live_status import brief


def add_undo(window: QMainWindow, stack: QUndoStack) -> dict[str, QAction]:
    """Undo and redo, with the words of the step, first in the Edit menu."""
    edit = menu(window, "&Edit")
    undo, redo = stack.createUndoAction(window, "&Undo"), stack.createRedoAction(window, "&Redo")
    undo.setShortcut("Ctrl+Z")
    redo.setShortcut("Ctrl+Shift+Z")
    edit.insertActions(edit.actions()[0], [undo, redo])
    return {"undo": undo, "redo": redo}


def add_places(window: QMainWindow, docks: Docks, actions: dict[str, QAction]) -> None:
    """Every view by its page, to go to, and a check box for every dock of the present page."""
    view = menu(window, "&View")
    views = QMenu("&Go to", view)
    for page, (title, _) in PAGES.items():
        views.addSection(title)
        for spec in VIEWS:
            if spec.page == page:
                views.addAction(spec.title).triggered.connect(partial(_show, docks, spec.key))
    view.insertMenu(actions["editor"], views)
    view.addMenu("&Panels").addActions(docks.view_actions())
    pages = QActionGroup(window)
    for page in PAGES:
        pages.addAction(actions[page])


def _show(docks: Docks, key: str, *_: object) -> None:
    docks.show(key)


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
            told = brief(folder)
            named = caption(folder.name)
            action = self.addAction(f"{named}\t{caption(told)}" if told else named)
            action.setToolTip(plain_tip(str(folder)))
            action.triggered.connect(lambda _=False, folder=folder: self._open_run(folder))
        if self.isEmpty():
            self.addAction("No run was opened yet").setEnabled(False)
            return
        self.addSeparator()
        self.addAction("Forget all", self._preferences.clear_recent)
