"""Commands of ours in processes of their own: verify, report, the schedule of a card."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from app.capabilities.simulated_card.inference import (
    COMMAND,
    CardRun,
    parse_answer,
    process_error,
    question,
)
from app.console.streams import ERROR_FILE, take_error_file
from app.machine.child import Child
from app.run_folder.files import Finding
from app.run_folder.run import SAMPLES
from app.runs.following.state import CaseDetails
from exporters import install_layout
from exporters.types import GraphlapError


class OwnCommand(QObject):
    """One at a time: `ended` carries the exit code and what was printed, `failed` why there is
    nothing. `busy_message` is what is under way, in the words of an error."""

    ended = Signal(int, str)
    failed = Signal(object)

    def __init__(self, busy_message: str, parent: QObject) -> None:
        super().__init__(parent)
        self._busy_message = busy_message
        self._process: QProcess | None = None
        self._error_file = Path(tempfile.gettempdir(), f"graphlap-{uuid.uuid4().hex}.error.json")

    def start(self, arguments: Sequence[str], good: Sequence[int] = (0,)) -> None:
        """Begin; an exit code that is not `good` is a failure. GraphlapError while the last one
        goes on."""
        if self._process is not None:
            raise GraphlapError(self._busy_message, "wait for its end")
        process = QProcess(self)
        process_environment = QProcessEnvironment()
        for name, value in install_layout.child_environment().items():
            process_environment.insert(name, value)
        process_environment.insert(ERROR_FILE, str(self._error_file))
        process.setProcessEnvironment(process_environment)
        process.finished.connect(lambda code, how: self._on_end(process, code, how, good))
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

    def _on_end(
        self, process: QProcess, code: int, how: QProcess.ExitStatus, good: Sequence[int]
    ) -> None:
        error_text = bytes(process.readAllStandardError().data()).decode("utf-8", "replace")
        output = bytes(process.readAllStandardOutput().data()).decode("utf-8", "replace")
        self._release(process)
        if how == QProcess.ExitStatus.CrashExit:  # `code` is a signal's number, not an exit code
            self.failed.emit(
                GraphlapError(
                    f"its process was ended by signal {code}",
                    "try again; if it happens again, make more memory free",
                )
            )
            return
        if code == 0 or (code in good and not error_text.strip()):
            self.ended.emit(code, output)
            return
        lines = error_text.strip().splitlines() or ["it gave no reason"]
        error = take_error_file(self._error_file)
        self.failed.emit(error or GraphlapError(lines[-1].removeprefix("graphlap: ")))


_EXIT_CODES = (0, 1)
"""Of a folder that is whole, and of one that is damaged."""


class DamageCheck(QObject):
    """`found` carries the folder and its Findings, harmless ones left out."""

    found = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._folder: Path | None = None
        self._command: OwnCommand | None = None

    def look(self, folder: Path) -> None:
        """Look through this folder; what was looked at before is left."""
        self.close()
        self._folder = folder
        self._command = OwnCommand("a run folder is being checked", self)
        self._command.ended.connect(self._on_end)
        self._command.failed.connect(self._failed)
        self._command.start(["verify", str(folder), "-f", "json"], good=_EXIT_CODES)

    def close(self) -> None:
        if self._command is not None:
            self._command.close()
            self._command.deleteLater()
            self._command = None

    def _on_end(self, _code: int, text: str) -> None:
        self.found.emit(self._folder, findings(text))

    def _failed(self, error: Exception) -> None:
        """A folder that can't be looked at is damaged itself."""
        self.found.emit(
            self._folder, (Finding("run_unreadable", "", str(error), "see graphlap verify"),)
        )


def findings(text: str) -> tuple[Finding, ...]:
    """What the command found, from its document."""
    tables = (block for block in json.loads(text)["blocks"] if block["type"] == "table")
    rows = next(tables)["rows"]
    return tuple(
        Finding(row["code"], row["file"], row["finding"], row["action"])
        for row in rows
        if row["verdict"] == "damaged"
    )


def damaged_cases(damage_findings: tuple[Finding, ...]) -> dict[str, str]:
    """By the id of a case what is damaged of its samples."""
    messages: dict[str, list[str]] = {}
    for finding in damage_findings:
        folder, _, name = finding.file.rpartition("/")
        if folder == SAMPLES and "." in name:
            messages.setdefault(name.partition(".")[0], []).append(f"{name} {finding.problem}")
    return {case_id: "; ".join(texts) for case_id, texts in messages.items()}


_DAMAGE_CODE = 1
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
        self._command.start(["report", *map(str, folders), "-o", str(page)], (0, _DAMAGE_CODE))
        self._page = page

    def close(self) -> None:
        """End it; a page that is not whole is not there."""
        self._command.close()


class CardProcess:
    """One question at a time; a new one drops the one before."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def ask(self, details: CaseDetails) -> bool:
        """Start on a case; False if it does not run on a card."""
        self.close()
        line = question(details.case, details.model)
        if not line:
            return False
        self._child = Child(COMMAND)
        self._child.send(line)
        return True

    @property
    def is_busy(self) -> bool:
        return self._child is not None

    def poll(self) -> CardRun | GraphlapError | None:
        """The answer once it is there, an error if there is none to be had, else None."""
        if self._child is None:
            return None
        has_ended = self._child.ended()
        lines = self._child.lines()
        if not lines:
            if not has_ended:
                return None
            how = self._child.how_it_ended()
            self.close()
            return process_error(how)
        self.close()
        return parse_answer(lines[0])

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
