"""Panels of the batch process: the end of its log, and the sweeps that wait."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtGui import QFontDatabase, QTextCursor
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.launch import RunControl
from app.gui.look.controls import lay, named

_LINES = 5_000
_AT_ONCE = 1 << 16
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LogPanel(QPlainTextEdit):
    """`follow` names the file, `read_on` is called by the window's timer."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName("log of the batch process")
        self.setPlaceholderText("The batch process writes here once a sweep runs.")
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(_LINES)
        self._path: Path | None = None
        self._offset = 0

    def follow(self, path: Path | None) -> None:
        """Show this file from now on; one that is not there is an empty one."""
        if path != self._path:
            self._path, self._offset = path, 0
            self.clear()

    def read_on(self) -> None:
        """Append what the file has gained; of a long one only the end is read."""
        if self._path is None:
            return
        try:
            size = self._path.stat().st_size
            if size <= self._offset:
                return
            with self._path.open("rb") as file:
                file.seek(max(self._offset, size - _AT_ONCE))
                data = file.read(_AT_ONCE)
                self._offset = file.tell()
        except OSError:
            return
        self._append(_ESCAPES.sub("", data.decode("utf-8", "replace")))

    def _append(self, text: str) -> None:
        bar = self.verticalScrollBar()
        at_end = bar.value() == bar.maximum()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text)
        if at_end:
            bar.setValue(bar.maximum())


class QueuePanel(QWidget):
    """A list over the control's queue."""

    def __init__(self, control: RunControl) -> None:
        super().__init__()
        self._control = control
        self._queue = control.queue
        self.list = named(QListWidget(), "sweeps that wait")
        self.note = named(QLabel(wordWrap=True), muted=True)
        self.remove = named(QPushButton("Remove"), tip="Take this sweep out of the queue")
        self.start = named(QPushButton("Run next"), tip="Go on with the first sweep of the queue")
        self.remove.clicked.connect(lambda: self._queue.remove(self.list.currentRow()))
        self.start.clicked.connect(self._go_on)
        buttons = lay(QHBoxLayout(), self.remove, self.start, 0)
        lay(QVBoxLayout(self), self.note, (self.list, 1), buttons, margins=(8, 8, 8, 8))
        self._queue.changed.connect(self._refresh)
        control.state_changed.connect(self._refresh)
        self.list.currentRowChanged.connect(self._enable)
        self._refresh()

    def _go_on(self) -> None:
        self._queue.release()
        self._control.run_next()

    def _refresh(self) -> None:
        place = self.list.currentRow()
        self.list.clear()
        for plan in self._queue.plans:
            models = sum(len(sweep.models) for sweep in plan.sweeps)
            noun = "model" if models == 1 else "models"
            self.list.addItem(f"{plan.name}: {models} {noun}, {plan.profile}")
        self.list.setCurrentRow(min(place, self.list.count() - 1))
        if not self._queue.plans:
            text = "No sweep waits. “Queue” in the editor puts one here."
        elif self._queue.held:
            text = "The queue is held, because a sweep was stopped. “Run next” goes on."
        else:
            text = "These sweeps start one after another, each when the one before has ended."
        self.note.setText(text)
        self._enable()

    def _enable(self) -> None:
        self.remove.setEnabled(self.list.currentRow() >= 0)
        self.start.setEnabled(self.list.count() > 0 and self._control.state == "idle")
