"""Processes of ours: the batch process and its queue; verify, report and the schedule of a card."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from app.analysis.plot_data.card import (
    COMMAND as CARD_COMMAND,
)
from app.analysis.plot_data.card import (
    CardRun,
    parse_answer,
    process_error,
    question,
)
from app.machine.child import STEERED, Child
from app.machine.placement import keep_to, on_cores, usable_cores
from app.plan.plan import Plan
from app.plan.plan_files import plan_toml
from app.present.console.streams import ERROR_FILE, take_error_file
from app.run_folder.files import Finding, write_atomically
from app.run_folder.run import SAMPLES
from app.runs.following.state import CaseDetails
from exporters import install_layout
from exporters.types import GraphlapError

_ALL = frozenset(usable_cores())


def leave_last_core() -> None:
    """Keep the calling thread, and the threads it starts from now on, off the last core."""
    if len(_ALL) > 1:
        keep_to(_ALL - {max(_ALL)})


COMMAND = install_layout.command("app")
_LAST_BYTES = 4096
_let_go: list[subprocess.Popen[bytes]] = []
"""Those that outlive their window: kept, since Python complains of one that is forgotten."""


class BatchChild:
    """`graphlap ARGUMENTS`, its standard output and error appended to `log`."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        self._error_file = log.with_name(f"{log.name}.error.json")
        try:
            with log.open("ab") as output, on_cores(_ALL):
                self._process = subprocess.Popen(
                    [*COMMAND, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,
                    env={
                        **install_layout.child_environment(),
                        ERROR_FILE: str(self._error_file),
                        STEERED: "1",
                    },
                )
            assert self._process.stdin
            self._stdin = self._process.stdin
        except OSError as error:
            raise GraphlapError(
                f"the batch process can't be started ({error.strerror})",
                "see that the runs folder can be written",
            ) from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, word: str) -> None:
        """Write `pause`, `resume` or `stop`; one that has just ended does not hear it."""
        with contextlib.suppress(OSError):
            self._stdin.write(word.encode() + b"\n")

    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.poll()

    def let_go(self) -> None:
        """Close its input; it goes on alone, or has ended."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        if self._process.poll() is None:
            _let_go.append(self._process)

    def told_error(self) -> GraphlapError | None:
        """The error that ended it, once; None where it told none."""
        return take_error_file(self._error_file)

    def error(self) -> GraphlapError:
        """Why it ended: the error that it told, else the last line of its output."""
        return self.told_error() or GraphlapError(
            self._last_line() or "the batch process gave no reason",
            "its log, beside the run folder, has the rest",
        )

    def _last_line(self) -> str:
        try:
            text = self.log.read_bytes()[-_LAST_BYTES:].decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


class SweepQueue(QObject):
    """A held queue gives nothing out until `release`."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.plans: list[Plan] = []
        self.held = False

    def add(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.changed.emit()

    def take(self) -> Plan | None:
        """The first plan, taken out; None if there is none or the queue is held."""
        if self.held or not self.plans:
            return None
        plan = self.plans.pop(0)
        self.changed.emit()
        return plan

    def remove(self, index: int) -> None:
        del self.plans[index]
        self.changed.emit()

    def hold(self) -> None:
        self.held = bool(self.plans)
        self.changed.emit()

    def release(self) -> None:
        self.held = False
        self.changed.emit()


State = Literal["idle", "running", "paused", "stopping"]
LOOK_EVERY_MS = 150
MISUSE = 2
"""The exit code of a plan that the batch process refuses, before anything is written."""


class RunControl(QObject):
    """`started` carries the run folder, `ended` the folder and the exit code, `refused` the error
    of a batch process that would not begin or could not go on."""

    started = Signal(object)
    ended = Signal(object, int)
    refused = Signal(object)
    state_changed = Signal(str)

    def __init__(self, queue: SweepQueue, runs_folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.queue = queue
        self.runs_folder = runs_folder
        self.state: State = "idle"
        self.folder: Path | None = None
        self.child: BatchChild | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY_MS)
        self._timer.timeout.connect(self.look)

    @property
    def log(self) -> Path | None:
        """Where the output of the last started batch process goes."""
        return log_of(self.folder) if self.folder else None

    def run(self, plan: Plan) -> None:
        """Measure a plan now, or queue it behind the one that is measured."""
        if self.child is not None:
            self.queue.add(plan)
            return
        folder = self._new_folder(plan.name)
        plan_file = folder.with_name(f"{folder.name}.toml")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(plan_file, plan_toml(plan).encode())
        except OSError as error:
            raise GraphlapError(
                f"{folder.parent} can't be written ({error.strerror})",
                "choose another runs folder in the File menu",
            ) from None
        self._start(["run", str(plan_file), "--out", str(folder)], folder)

    def resume_folder(self, folder: Path) -> None:
        """Measure what a run folder still lacks."""
        if self.child is not None:
            raise GraphlapError("a sweep is being measured", "stop it, or wait for its end")
        self._start(["resume", str(folder)], folder)

    def pause(self) -> None:
        """Let the round in flight end and start no other."""
        if self.state == "running":
            self._tell("pause", "paused")

    def resume(self) -> None:
        if self.state == "paused":
            self._tell("resume", "running")

    def stop(self) -> None:
        """End after the block in flight, and take nothing more from the queue."""
        if self.state in ("running", "paused"):
            self.queue.hold()
            self._tell("stop", "stopping")

    def look(self) -> None:
        """Notice the end of the child; what comes next is started from here."""
        if self.child is None or (code := self.child.exit_code()) is None:
            return
        child, folder = self.child, self.folder
        child.let_go()
        self.child = None
        self._timer.stop()
        self._set_state("idle")
        error = child.error() if code == MISUSE else child.told_error()
        if error is not None:
            self.refused.emit(error)
        self.ended.emit(folder, code)
        self.run_next()

    def run_next(self) -> None:
        """Start the first sweep of the queue, if nothing is measured and it is not held."""
        if self.child is None and (plan := self.queue.take()) is not None:
            self.run(plan)

    def close(self) -> None:
        """Let the child go on without the window."""
        self._timer.stop()
        if self.child is not None:
            self.child.let_go()
            self.child = None

    def _start(self, arguments: list[str], folder: Path) -> None:
        self.child = BatchChild(arguments, log_of(folder))
        self.folder = folder
        self._timer.start()
        self._set_state("running")
        self.started.emit(folder)

    def _tell(self, word: str, state: State) -> None:
        if self.child is not None:
            self.child.send(word)
            self._set_state(state)

    def _set_state(self, state: State) -> None:
        self.state = state
        self.state_changed.emit(state)

    def _new_folder(self, name: str) -> Path:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        base = self.runs_folder / f"{stamp}-{name}"
        folder, number = base, 2
        while folder.exists() or folder.with_name(f"{folder.name}.toml").exists():
            folder = base.with_name(f"{base.name}-{number}")
            number += 1
        return folder


def log_of(folder: Path) -> Path:
    """The log beside a run folder, which must be empty when a run begins in it."""
    return folder.with_name(f"{folder.name}.log")


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
        self._child = Child(CARD_COMMAND)
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
