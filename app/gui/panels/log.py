"""What the batch process says, followed in its log file; only the end of a long one is kept."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtGui import QFontDatabase, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

_LINES = 5_000
_AT_ONCE = 1 << 16
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LogPanel(QPlainTextEdit):
    """`follow` names the file, `read_on` is called by the window's timer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
