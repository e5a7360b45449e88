"""A thread that follows one run folder and tells the window its state as often as it draws.

Reading is cheap and the measuring is in another process, so a thread is enough; the states
it sends are frozen, and only the newest is kept for a window that is busy.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal

from app.runs.following.reader import RunReader
from app.runs.following.state import RunState
from exporters.types import GraphlapError

LIVE_S = 0.05
IDLE_S, LONGEST_S = 1.0, 5.0
"""How often to look at a run that is written, and at one that is not: ever more rarely while
nothing comes of it."""


class Follower(QThread):
    """`take` gives the newest state, `moved` says that there is one; `failed` carries why the
    folder is no run."""

    failed = Signal(object)
    moved = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self.setObjectName(f"follow {folder.name}")
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._newest: RunState | None = None
        self._choice: tuple[str, ...] | None = None
        self._all = False
        self._ending = False

    def choose(self, keys: Sequence[str]) -> None:
        """Show these cases; none means that the follower chooses."""
        with self._lock:
            self._choice = tuple(keys)
        self._wake.set()

    def summarise_all(self) -> None:
        """Have summaries of every case: all of them are to be compared."""
        if not self._all:
            self._all = True
            self._wake.set()

    def take(self) -> RunState | None:
        """The newest state, once."""
        with self._lock:
            state, self._newest = self._newest, None
        return state

    def close(self) -> None:
        """End the thread and what it started, and wait for that."""
        self._ending = True
        self._wake.set()
        self.wait()

    def run(self) -> None:
        try:
            reader = RunReader(self.folder)
        except GraphlapError as error:
            self.failed.emit(error)
            return
        try:
            self._follow(reader)
        finally:
            reader.close()

    def _follow(self, reader: RunReader) -> None:
        pause_s = IDLE_S
        while not self._ending:
            with self._lock:
                choice, self._choice = self._choice, None
            if choice is not None:
                reader.choose(choice)
            if self._all:
                reader.summarise_all()
            state = reader.poll()
            if state is not None:
                with self._lock:
                    self._newest = state
                self.moved.emit()
            pause_s = IDLE_S if reader.is_moving or state is not None else 1.5 * pause_s
            self._wake.wait(LIVE_S if reader.is_moving else min(pause_s, LONGEST_S))
            self._wake.clear()
