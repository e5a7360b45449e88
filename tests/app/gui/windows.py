"""A whole window in a test: what a user does with it, its palette and menus, and what he sees."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.errors import ErrorDialog
from app.gui.palette import Palette
from app.gui.window import MainWindow
from app.plan.plan import Plan
from app.runs.following.state import RunState

TIMEOUT_MS = 60_000


def run_plan(window: MainWindow, qtbot: QtBot, plan: Plan) -> None:
    """Put the plan into the editor and press its button."""
    window.editor.set_draft(plan, "test")
    qtbot.waitUntil(window.editor.footer.run_button.isEnabled, timeout=10_000)
    window.editor.footer.run_button.click()
    qtbot.waitUntil(lambda: window.control.state == "running", timeout=10_000)


def open_run(window: MainWindow, qtbot: QtBot, folder: Path) -> None:
    window.open_run(folder)
    is_open = lambda: window.feed.folder == folder and window.feed.state is not None  # noqa: E731
    qtbot.waitUntil(is_open, timeout=10_000)


def seen(window: MainWindow) -> RunState:
    """The open run as it stands."""
    assert window.feed.state is not None
    return window.feed.state


def statuses(window: MainWindow) -> list[str]:
    """Those of the results table, from top to bottom."""
    return [case_series.status for case_series in window.table.model.series]


def wait_for_summaries(window: MainWindow, qtbot: QtBot) -> None:
    """Until the percentiles of all that is shown come from raw samples."""

    def has_summaries() -> bool:
        state = window.feed.state
        return state is not None and all(
            case.summary
            for case in state.series
            if case.status == "ok" and case.key in state.visible_keys
        )

    qtbot.waitUntil(has_summaries, timeout=TIMEOUT_MS)


def activate(qtbot: QtBot, widget: QWidget) -> None:
    """Give it the keyboard."""
    with qtbot.waitActive(widget):
        widget.activateWindow()


def dialogs(window: MainWindow) -> list[ErrorDialog]:
    return [dialog for dialog in window.findChildren(ErrorDialog) if dialog.isVisible()]


def palette(window: MainWindow) -> Palette:
    """Opened by its key, as it is on the screen."""
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    (dialog,) = [child for child in window.findChildren(Palette) if child.isVisible()]
    return dialog


def menu_of(qtbot: QtBot) -> QMenu:
    def find_menus() -> list[QMenu]:
        return [w for w in QApplication.topLevelWidgets() if isinstance(w, QMenu) and w.isVisible()]

    qtbot.waitUntil(lambda: len(find_menus()) == 1, timeout=5_000)
    return find_menus()[0]


def do(menu: QMenu, beginning: str) -> None:
    """Trigger the action whose words begin so, by the keyboard's way into a menu."""
    action = next(a for a in menu.actions() if a.text().replace("&", "").startswith(beginning))
    menu.setActiveAction(action)
    QTest.keyClick(menu, Qt.Key.Key_Return)


def asked_for_menu(widget: QWidget, reason: QContextMenuEvent.Reason, point: QPoint) -> None:
    QApplication.sendEvent(widget, QContextMenuEvent(reason, point, widget.mapToGlobal(point)))
