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
        process.finished.connect(lambda code, how: self._ended(process, code, how, good))
        process.errorOccurred.connect(lambda error: self._not_started(process, error))
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

    def _not_started(self, process: QProcess, error: QProcess.ProcessError) -> None:
        # A process that did not start has no end; after every other error its end follows.
        if error == QProcess.ProcessError.FailedToStart:
            self._release(process)
            self.failed.emit(
                GraphlapError(
                    f"its process did not start: {process.errorString()}",
                    "close other programs or check the installation, then try again",
                )
            )

    def _release(self, process: QProcess) -> None:
        self._process = None
        process.deleteLater()

    def _ended(
        self, process: QProcess, code: int, how: QProcess.ExitStatus, good: Sequence[int]
    ) -> None:
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace")
        printed = bytes(process.readAllStandardOutput().data()).decode("utf-8", "replace")
        self._release(process)
        if how == QProcess.ExitStatus.CrashExit:  # `code` is a signal's number, not an exit code
            self.failed.emit(
                GraphlapError(
                    f"its process was ended by signal {code}",
                    "try again; if it happens again, make more memory free",
                )
            )
            return
        if code == 0 or (code in good and not said.strip()):
            self.ended.emit(code, printed)
            return
        lines = said.strip().splitlines() or ["it gave no reason"]
        error = take_error_file(self._error_file)
        self.failed.emit(error or GraphlapError(lines[-1].removeprefix("graphlap: ")))
