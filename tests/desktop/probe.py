"""The real window, with a back channel that tells where a widget is and takes pictures.

Lines on standard input: `where KIND NAME`, `size W H`, `shot PATH`, `busy`, `quit`; a JSON line
answers each. It presses no key and clicks nothing: that is left to the keyboard and the mouse.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest.mock import patch

from PySide6.QtCore import QPoint, QRect, QSocketNotifier, Qt, QTimer
from PySide6.QtWidgets import (
    QApplication,
    QScrollArea,
    QTabBar,
    QTreeWidget,
    QTreeWidgetItemIterator,
    QWidget,
)

from app.gui import main
from app.gui.window import MainWindow


class Probe:
    """Answers questions about the one main window."""

    def __init__(self) -> None:
        self._notifier = QSocketNotifier(0, QSocketNotifier.Type.Read)
        self._notifier.activated.connect(self._read_command)
        self._say({"ready": True})

    @property
    def window(self) -> MainWindow:
        return next(w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow))

    def _say(self, answer: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    def _read_command(self) -> None:
        line = sys.stdin.readline()
        if not line:
            QApplication.quit()
            return
        word, _, rest = line.strip().partition(" ")
        if word == "where":
            kind, _, name = rest.partition(" ")
            self._say({"at": self._where(kind, name)})
        elif word == "size":
            width, height = map(int, rest.split())
            self.window.showNormal()
            self.window.setGeometry(0, 0, width, height)
            self._say({"width": self.window.width()})
        elif word == "shot":
            screen = self.window.screen()
            self._say({"saved": screen.grabWindow(0).save(rest)})
        elif word == "busy":
            state = self.window.feed.state
            at = state.live.phase if state and state.live else ""
            folder = str(state.folder) if state else ""
            asked = QApplication.activeModalWidget() is not None
            self._say(
                {
                    "state": self.window.control.state,
                    "phase": at,
                    "word": self.window.progress.word.text(),
                    "folder": folder,
                    "asked": str(asked),
                }
            )
        elif word == "quit":
            self.window.close()
            QApplication.quit()

    def _where(self, kind: str, name: str) -> list[int] | None:
        """Device pixels of the middle of what is named, scrolled into view; None if unseen."""
        target = {"tab": self._tab, "item": self._item, "widget": self._widget}[kind](name)
        if target is None:
            return None
        widget, point = target
        position = widget.mapToGlobal(point) * widget.devicePixelRatio()
        return [position.x(), position.y()]

    def _tab(self, name: str) -> tuple[QWidget, QPoint] | None:
        for bar in self.window.findChildren(QTabBar):
            for index in range(bar.count()):
                if bar.isVisible() and bar.tabText(index) == name:
                    return bar, bar.tabRect(index).center()
        return None

    def _item(self, name: str) -> tuple[QWidget, QPoint] | None:
        for tree in self.window.findChildren(QTreeWidget):
            items = QTreeWidgetItemIterator(tree)
            while items.value():
                item = items.value()
                if item.text(0) == name and not item.isHidden():
                    tree.scrollToItem(item)
                    box = tree.visualItemRect(item)
                    view = tree.viewport()
                    self._reveal(view, box)
                    return view, QPoint(box.left() + 8, box.center().y())
                items += 1
        return None

    def _widget(self, name: str) -> tuple[QWidget, QPoint] | None:
        roots = [self.window, *QApplication.topLevelWidgets()]
        for root in roots:
            for widget in root.findChildren(QWidget):
                text = getattr(widget, "text", None)
                names = {widget.accessibleName(), text() if callable(text) else ""}
                if widget.isVisible() and name in names:
                    self._reveal(widget, widget.rect())
                    return widget, widget.rect().center()
        return None

    def _reveal(self, widget: QWidget, box: QRect) -> None:
        area = self.window.editor.findChild(QScrollArea)
        inner = area.widget() if area else None
        if area and inner and area.isAncestorOf(widget):
            position = widget.mapTo(inner, box.center())
            area.ensureVisible(position.x(), position.y(), 20, 60)
            QApplication.processEvents()


_probes: list[Probe] = []
"""Keeps the one alive that was made."""


def _start() -> None:
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
    _probes.append(Probe())


if __name__ == "__main__":
    original = MainWindow.show

    def show(window: MainWindow) -> None:
        original(window)
        QTimer.singleShot(300, _start)

    with patch.object(MainWindow, "show", show):
        sys.exit(main.main([]))
