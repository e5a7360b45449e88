"""Runs sweeps one at a time: starts the batch process, steers it, and starts the next.

The state is what was asked of the child; what the run is really doing, its folder tells.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.gui.launch.child import BatchChild
from app.gui.launch.queue import SweepQueue
from app.plan.plan import Plan
from app.plan.plan_files import plan_toml
from app.run_folder.files import write_atomically
from exporters.types import GraphlapError

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
