"""A second run beside the open one: followed like it, and told with it as a pair."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.gui.follow.follower import Follower
from app.gui.follow.past import PastRuns
from app.history.run_comparison import RunSide, side_of_manifest
from app.history.trends import History
from app.plot_data.series import ranked
from app.runs.following.state import RunState


class ComparedRun(QObject):
    """`failed` carries why a folder is no run, or can't be read any more; `moved` says that
    `beside` has something new."""

    failed = Signal(object)
    moved = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._follower: Follower | None = None
        self._state: RunState | None = None
        self._told: tuple[object, ...] | None = None
        self._history: History | None = None
        self._answers = 0
        self._past = PastRuns(self)
        self._past.found.connect(self._take_history)

    def open(self, folder: Path) -> None:
        """Compare with this run from now on, whichever run is open."""
        self.close()
        self._follower = Follower(folder, self)
        self._follower.failed.connect(self._not_a_run)
        self._follower.moved.connect(self.moved)
        self._follower.summarise_all()
        self._follower.start()

    @property
    def folder(self) -> Path | None:
        """The second run's."""
        return self._follower.folder if self._follower else None

    @property
    def is_open(self) -> bool:
        return self._follower is not None

    def close(self) -> None:
        """Follow no second run; what was shown stays."""
        if self._follower is not None:
            self._follower.close()
            self._follower.deleteLater()
        self._follower = self._state = self._told = None

    def beside(self, first: RunState) -> tuple[RunSide, RunSide, History | None] | None:
        """Both runs and the history of the machine, if any of them has moved since they were told
        last, else None. The history is read in a thread, and is None until it has been."""
        state = self._follower.take() if self._follower else None
        if state is not None and state.problem is not None:
            self.failed.emit(state.problem.error)
        elif state is not None:
            if self._state is None and state.damaged:
                self.failed.emit(state.damaged[0].error)
            self._state = state
        second = self._state
        if second is None:
            return None
        self._past.look_beside(first, second)
        stamp = (first.folder, first.revision, second.folder, second.revision, self._answers)
        if stamp == self._told:
            return None
        self._told = stamp
        names = _names(first.folder, second.folder)
        return _side(names[0], first), _side(names[1], second), self._history

    def _take_history(self, found: object) -> None:
        self._history = found if isinstance(found, History) else None
        self._answers += 1
        self.moved.emit()

    def _not_a_run(self, error: Exception) -> None:
        if self.sender() is self._follower:
            self.close()
            self.failed.emit(error)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The folders' own names; with their parents' where those are the same."""
    if first.name != second.name:
        return first.name, second.name
    return str(Path(*first.parts[-2:])), str(Path(*second.parts[-2:]))


def _side(name: str, state: RunState) -> RunSide:
    cases = [one.measured for one in ranked(state.series)]
    return side_of_manifest(name, state.manifest, state.environments, cases)
