"""The HTML page of runs, written by a process of its own: it reads every sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.gui.launch.own_command import OwnCommand

_DAMAGED = 1
"""The exit code with a page that tells itself what of the runs is not in it."""


class ReportWriter(QObject):
    """`done` carries the page, `failed` why there is none."""

    done = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._page = Path()
        self._command = OwnCommand("a report is being written", self)
        self._command.failed.connect(self.failed)
        self._command.ended.connect(lambda *_: self.done.emit(self._page))

    def write(self, folders: Sequence[Path], page: Path) -> None:
        """Begin; GraphlapError while another page is being written."""
        self._command.start(["report", *map(str, folders), "-o", str(page)], (0, _DAMAGED))
        self._page = page

    def close(self) -> None:
        """End it; a page that is not whole is not there."""
        self._command.close()
