"""The runs beside the open one, read in a thread: how each case went from run to run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, Signal

from app.history.run_comparison import history_for
from app.history.trends import History, read_history
from app.run_folder.manifest import MANIFEST
from app.runs.following.state import RunState
from exporters.types import GraphlapError


class PastRuns(QObject):
    """`found` carries the History that was asked for, or why there is none."""

    found = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._asked: tuple[object, ...] = ()
        self._closed = False

    def look(self, state: RunState) -> None:
        """Read them where another run is open, or this one has ended since."""
        folder, band = state.folder.parent, state.manifest.requested_plan.band
        question = (folder, band, state.folder, state.alive)
        self._ask(question, partial(read_history, folder, band))

    def look_beside(self, *states: RunState) -> None:
        """Read what lies in the same folders as these runs, where others are asked for, or one of
        them has ended since."""
        question = tuple((state.folder, state.alive) for state in states)
        self._ask(question, partial(history_for, [state.folder for state in states]))

    def close(self) -> None:
        """Ask no more; what is being read is read to its end."""
        self._closed = True
        QThreadPool.globalInstance().waitForDone()

    def _ask(self, question: tuple[object, ...], read: Callable[[], History | None]) -> None:
        if question != self._asked and not self._closed:
            self._asked = question
            QThreadPool.globalInstance().start(partial(self._read, read))

    def _read(self, read: Callable[[], History | None]) -> None:
        answer: History | GraphlapError | None
        try:
            answer = read()
        except GraphlapError as error:
            answer = error
        self.found.emit(answer)


def has_others(folder: Path) -> bool:
    """Whether another run lies beside this one."""
    try:
        beside = (one for one in folder.parent.iterdir() if one != folder)
        return any((one / MANIFEST).is_file() for one in beside)
    except OSError:
        return False
