"""The HTML page of runs, written by a process of its own: it reads every sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from exporters import own
from exporters.types import GraphlapError


class ReportWriter(QObject):
    """`done` carries the page, `failed` why there is none."""

    done = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None

    def write(self, folders: Sequence[Path], page: Path) -> None:
        """Begin; GraphlapError while another page is being written."""
        if self._process is not None:
            raise GraphlapError("a report is being written", "wait for its end")
        process = QProcess(self)
        known = QProcessEnvironment()
        for name, value in own.child_environment().items():
            known.insert(name, value)
        process.setProcessEnvironment(known)
        process.finished.connect(lambda code, _: self._ended(process, code, page))
        program, *arguments = own.command("app")
        self._process = process
        process.start(program, [*arguments, "--report", *map(str, folders), "-o", str(page)])

    def close(self) -> None:
        """End it; a page that is not whole is not there."""
        if self._process is not None:
            self._process.finished.disconnect()
            self._process.kill()
            self._process.waitForFinished()
            self._process = None

    def _ended(self, process: QProcess, code: int, page: Path) -> None:
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace")
        self._process = None
        process.deleteLater()
        if code == 0:
            self.done.emit(page)
            return
        lines = said.strip().splitlines() or ["it gave no reason"]
        cause, _, remedy = lines[-1].removeprefix("graphlap: ").rpartition(": ")
        self.failed.emit(GraphlapError(cause or remedy, remedy if cause else ""))
