"""A command of ours in a process of its own, for what reads every sample of runs."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from app.console.streams import ERROR_FILE, take_error_file
from exporters import install_layout
from exporters.types import GraphlapError


class OwnCommand(QObject):
    """One at a time: `ended` carries the exit code and what was printed, `failed` why there is
    nothing. `what` is what is under way, in the words of an error."""

    ended = Signal(int, str)
    failed = Signal(object)

    def __init__(self, what: str, parent: QObject) -> None:
        super().__init__(parent)
        self._what = what
        self._process: QProcess | None = None
        self._error_file = Path(tempfile.gettempdir(), f"graphlap-{uuid.uuid4().hex}.error.json")

    def start(self, arguments: Sequence[str], good: Sequence[int] = (0,)) -> None:
        """Begin; an exit code that is not `good` is a failure. GraphlapError while the last one
        goes on."""
        if self._process is not None:
            raise GraphlapError(self._what, "wait for its end")
        process = QProcess(self)
        known = QProcessEnvironment()
        for name, value in install_layout.child_environment().items():
            known.insert(name, value)
        known.insert(ERROR_FILE, str(self._error_file))
        process.setProcessEnvironment(known)
        process.finished.connect(lambda code, _: self._ended(process, code, good))
        program, *first = install_layout.command("app")
        self._process = process
        process.start(program, [*first, *arguments])

    def close(self) -> None:
        """End it; what is not whole is not there."""
        if self._process is not None:
            self._process.finished.disconnect()
            self._process.kill()
            self._process.waitForFinished()
            self._process = None

    def _ended(self, process: QProcess, code: int, good: Sequence[int]) -> None:
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace")
        printed = bytes(process.readAllStandardOutput().data()).decode("utf-8", "replace")
        self._process = None
        process.deleteLater()
        if code == 0 or (code in good and not said.strip()):
            self.ended.emit(code, printed)
            return
        lines = said.strip().splitlines() or ["it gave no reason"]
        error = take_error_file(self._error_file)
        self.failed.emit(error or GraphlapError(lines[-1].removeprefix("graphlap: ")))
