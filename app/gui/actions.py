"""The window's actions, and the menus that hold them, made from their table."""

from __future__ import annotations

from operator import attrgetter

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from app.gui.action_table import ACTIONS, ActionSpec


def build_actions(window: QMainWindow, bar: QMenuBar) -> dict[str, QAction]:
    """Make all actions and the menus that hold them; each calls its method of the window."""
    made: dict[str, QAction] = {}
    for title, specs in ACTIONS.items():
        held = bar.addMenu(title)
        for spec in specs:
            made[spec.key] = _action(spec, window)
            held.addAction(made[spec.key])
    return made


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
