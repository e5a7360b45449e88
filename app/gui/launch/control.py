"""The batch process: started on cores of its own, steered, and followed by the next in a queue."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.console.streams import ERROR_FILE, take_error_file
from app.machine.child import STEERED
from app.machine.placement import keep_to, on_cores, usable_cores
from app.plan.plan import Plan
from app.plan.plan_files import plan_toml
from app.run_folder.files import write_atomically
from exporters import install_layout
from exporters.types import GraphlapError

_ALL = frozenset(usable_cores())


def leave_last_core() -> None:
    """Keep the calling thread, and the threads it starts from now on, off the last core."""
    if len(_ALL) > 1:
        keep_to(_ALL - {max(_ALL)})


def all_cores() -> AbstractContextManager[None]:
    """A process that is started inside may use every core that the window was given."""
    return on_cores(_ALL)


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
            with log.open("ab") as output, all_cores():
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

    def move(self, index: int, new_index: int) -> None:
        """Put the plan at `index` to place `new_index`."""
        self.plans.insert(new_index, self.plans.pop(index))
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
