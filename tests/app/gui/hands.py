"""The palette and context menus as hands open them, for tests of whole windows."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.gui.panels.palette import Palette
from app.gui.window import MainWindow


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


def words(menu: QMenu) -> list[str]:
    return [action.text().replace("&", "") for action in menu.actions()]


def do(menu: QMenu, beginning: str) -> None:
    """Trigger the action whose words begin so, by the keyboard's way into a menu."""
    action = next(a for a in menu.actions() if a.text().replace("&", "").startswith(beginning))
    menu.setActiveAction(action)
    QTest.keyClick(menu, Qt.Key.Key_Return)


def asked_for_menu(widget: QWidget, reason: QContextMenuEvent.Reason, point: QPoint) -> None:
    QApplication.sendEvent(widget, QContextMenuEvent(reason, point, widget.mapToGlobal(point)))
