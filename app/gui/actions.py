"""Every action of the window as a row of a table, and the menus made from it."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """`slot` is a method of the window or of one of its parts; `icon` is a name in `glyphs`."""

    key: str
    text: str
    slot: str
    shortcut: str = ""
    tip: str = ""
    icon: str = ""
    checkable: bool = False


_FILE = (
    ActionSpec(
        "new",
        "&New sweep…",
        "frame.toggle_composer",
        "Ctrl+N",
        "Choose what is measured, where and for how long",
        "new",
    ),
    ActionSpec(
        "open",
        "&Open…",
        "files.open_file",
        "Ctrl+O",
        "Open a model (.onnx), a run (any file in its folder) or a plan (.toml)",
        "open",
    ),
    ActionSpec(
        "open_run",
        "Open run &folder…",
        "files.open_run",
        "Ctrl+Shift+O",
        "Open a run of this machine or another, also one that is still being written",
    ),
    ActionSpec(
        "compare",
        "Co&mpare with run…",
        "files.compare_run",
        "Ctrl+D",
        "Lay a second run beside the open one: ratios of p50 and p99, and what differs around them",
    ),
    ActionSpec(
        "baseline_run",
        "Add run as &baseline…",
        "files.baseline_run",
        "Ctrl+Shift+B",
        "Draw another run in grey behind the open one, and show every case's distance from it",
    ),
    ActionSpec(
        "drop_baselines",
        "&Clear baselines",
        "drop_baselines",
        "",
        "Compare with no baseline",
    ),
    ActionSpec(
        "save_plan",
        "&Save plan…",
        "files.save_plan",
        "Ctrl+S",
        "Save the sweep in the editor as a TOML file",
    ),
    ActionSpec(
        "export",
        "&Export view…",
        "looks.export_view",
        "Ctrl+E",
        "Save the view in front as PNG, SVG or CSV, on a light background",
    ),
    ActionSpec(
        "report",
        "Save repor&t…",
        "files.write_report",
        "",
        "One HTML page of the open run, or of two that are compared, to read without Graphlap",
    ),
    ActionSpec(
        "runs_folder",
        "Choose where runs are &written…",
        "files.choose_runs_folder",
        "",
        "Where runs that are started here are written",
    ),
    ActionSpec(
        "quit",
        "&Quit",
        "close",
        "Ctrl+Q",
        "Close the window; a sweep that is being measured goes on",
    ),
)
_EDIT = (
    ActionSpec(
        "copy_command",
        "&Copy as command line",
        "files.copy_command",
        "Ctrl+Shift+C",
        "Copy the command that measures the same cases without a window",
    ),
    ActionSpec(
        "copy_picture",
        "Copy &picture of the view",
        "looks.copy_picture",
        "Ctrl+Shift+E",
        "Put the view in front on the clipboard, on a light background",
    ),
    ActionSpec(
        "find",
        "&Find anything…",
        "finder.find_anything",
        "Ctrl+K",
        "Every action, view, case, model, term and recent run by a few letters",
        "find",
    ),
)
_RUN = (
    ActionSpec(
        "run",
        "&Run sweep",
        "editor.ask_to_run",
        "F5",
        "Measure the sweep in the editor",
        "run",
    ),
    ActionSpec(
        "pause",
        "&Pause",
        "runs.pause_or_resume",
        "F7",
        "Pause between rounds, or resume",
        "pause",
    ),
    ActionSpec(
        "stop",
        "&Stop",
        "control.stop",
        "Shift+F5",
        "End after the block in flight; the run can be resumed",
        "stop",
    ),
    ActionSpec(
        "queue",
        "Add to &queue",
        "editor.ask_to_queue",
        "Ctrl+F5",
        "Measure the sweep in the editor after those that run or wait",
    ),
    ActionSpec(
        "resume_run",
        "Resume open r&un",
        "runs.resume_open_run",
        "Ctrl+R",
        "Measure what the open run folder still lacks",
    ),
    ActionSpec(
        "follow",
        "&Follow the measurement",
        "rows.follow_measurement",
        "Ctrl+L",
        "Clear the selection and show the cases that are being measured",
    ),
)
_VIEW = (
    ActionSpec(
        "cases",
        "&Cases",
        "frame.toggle_cases",
        "F8",
        "Fold the list of cases away, or bring it back",
    ),
    ActionSpec(
        "details",
        "&Details",
        "frame.toggle_details",
        "F9",
        "Fold the table, the queue and the log away, or bring them back",
    ),
    ActionSpec(
        "next_pane",
        "Ne&xt pane",
        "frame.next_pane",
        "F6",
        "Move the keyboard to the next pane: header, cases, view, details",
    ),
    ActionSpec(
        "previous_pane",
        "&Previous pane",
        "frame.previous_pane",
        "Shift+F6",
        "Move the keyboard to the pane before",
    ),
    ActionSpec(
        "fill",
        "&Maximise view",
        "looks.fill_window",
        "F11",
        "Give the view in front the whole window; F11 or Escape brings the others back",
        "",
        True,
    ),
    ActionSpec(
        "dark",
        "Dark &theme",
        "toggle_theme",
        "Ctrl+T",
        "Change between the light and the dark theme",
        "",
        True,
    ),
    ActionSpec(
        "reset_layout",
        "&Reset panes",
        "frame.reset",
        "Ctrl+Shift+R",
        "Show all panes in their first sizes",
    ),
)
_HELP = (
    ActionSpec(
        "shortcuts",
        "Keyboard &shortcuts",
        "help.show_shortcuts",
        "F1",
        "All keyboard shortcuts on one sheet",
    ),
    ActionSpec(
        "terms",
        "&Terms",
        "help.show_terms",
        "Shift+F1",
        "What p99, spacing, boundary and the other words mean",
    ),
    ActionSpec("about", "&About Graphlap", "help.show_about"),
)
ACTIONS = {"&File": _FILE, "&Edit": _EDIT, "&Run": _RUN, "&View": _VIEW, "&Help": _HELP}
"""By the menu that holds them, each in its order there."""


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
