"""The Help menu: sheets of shortcuts and terms, and what this program is."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMessageBox, QWidget

from app.gui.look.shortcuts import Sheet, shortcut_rows, term_rows
from app.machine.environment import graphlap_version


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
        Sheet("Terms", term_rows(), self._window).open()

    def show_term(self, term: str) -> None:
        """One of them alone."""
        rows = [(word, sentence) for word, sentence in term_rows() if word == term]
        Sheet("Terms", rows, self._window).open()

    @Slot()
    def show_about(self) -> None:
        QMessageBox.about(
            self._window,
            "About Graphlap",
            f"<b>Graphlap {graphlap_version()}</b><p>Lap times for ONNX graphs.</p>",
        )
