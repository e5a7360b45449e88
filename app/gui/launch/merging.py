"""Runs that are made one folder, by a process of its own: it reads every sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.gui.launch.own_command import OwnCommand

_LEFT_OUT = 1


class RunMerger(QObject):
    """`done` carries the new folder, and whether damaged parts of the others are not in it;
    `failed` why there is none."""

    done = Signal(object, bool)
    failed = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._folder = Path()
        self._command = OwnCommand("runs are being merged", self)
        self._command.failed.connect(self.failed)
        self._command.ended.connect(self._on_end)

    def merge(self, folders: Sequence[Path], target: Path) -> None:
        """Begin; GraphlapError while others are being merged."""
        self._command.start(["merge", *map(str, folders), "--out", str(target)], (0, _LEFT_OUT))
        self._folder = target

    def close(self) -> None:
        """End it; a run that is not whole is not there."""
        self._command.close()

    def _on_end(self, code: int, _: str) -> None:
        self.done.emit(self._folder, code == _LEFT_OUT)
