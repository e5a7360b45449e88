"""The Help menu: sheets of shortcuts and terms, and what this program is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QMessageBox,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.terms import TERMS
from app.machine.environment import graphlap_version

ELSEWHERE = (
    ("Ctrl+0", "Show all data again (in a plot)"),
    ("Arrow keys", "Read the next bin, sample or mark (in a plot)"),
    (
        "Shift+drag, Shift+arrow keys",
        "Mark a range (in the histogram, the cumulative plot or the timeline)",
    ),
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
        layout = QVBoxLayout(self)
        layout.addWidget(area)
        layout.addWidget(buttons)
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


def term_rows() -> list[tuple[str, str]]:
    return sorted(TERMS.items())


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
