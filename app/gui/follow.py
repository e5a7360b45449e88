"""Runs that the window follows in threads: the open run, a second run, baselines, past runs.

Cyclic garbage is collected in the window's own thread, between two events. Python looks for cycles
in whichever thread happens to allocate. A thread that follows a run would so find plots that the
window has dropped, which Qt allows only the window's thread to destroy: PySide keeps their
addresses until that thread runs Python code again, in the middle of a paint perhaps, and by then
their parents may have destroyed them.
"""

from __future__ import annotations

import gc
import operator
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QAbstractEventDispatcher, QObject, QThread, QThreadPool, Signal, Slot

from app.analysis.plot_data.series import Baseline, ranked
from app.cases.case import identity_test
from app.gui.look.errors import Errand
from app.run_folder.manifest import MANIFEST
from app.runs.following.reader import RunReader
from app.runs.following.state import RunState
from app.runs.history.run_comparison import RunSide, history_for, side_of_manifest
from app.runs.history.trends import History, read_history
from exporters.types import GraphlapError


class GarbageCollector(QObject):
    """From its creation until `close` the only one that collects, as often as Python would."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._events = QAbstractEventDispatcher.instance()
        self._events.awake.connect(self.collect)

    @Slot()
    def collect(self) -> None:
        """Collect the oldest generation that is due, and with it all younger ones."""
        counts, limits = gc.get_count(), gc.get_threshold()
        due = [number for number in range(3) if counts[number] > limits[number]]
        if due and counts[0] > limits[0]:
            gc.collect(due[-1])

    def close(self) -> None:
        """Hand collection back to Python, once no other thread of the window runs."""
        if not gc.isenabled():
            self._events.awake.disconnect(self.collect)
            gc.enable()


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


class PastRuns(QObject):
    """`found` carries the History that was asked for, or why there is none."""

    found = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._last_request: tuple[object, ...] = ()
        self._is_closed = False

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
        self._is_closed = True
        QThreadPool.globalInstance().waitForDone()

    def _ask(self, question: tuple[object, ...], read: Callable[[], History | None]) -> None:
        if question != self._last_request and not self._is_closed:
            self._last_request = question
            self._errand = Errand(read)
            self._errand.done.connect(self._tell)
            self._errand.begin()

    def _tell(self, _errand: Errand, answer: History | GraphlapError | None) -> None:
        self.found.emit(answer)


def has_others(folder: Path) -> bool:
    """Whether another run lies beside this one."""
    try:
        siblings = (sibling for sibling in folder.parent.iterdir() if sibling != folder)
        return any((sibling / MANIFEST).is_file() for sibling in siblings)
    except OSError:
        return False


class ComparedRun(QObject):
    """`failed` carries why a folder is no run, or can't be read any more; `moved` says that
    `beside` has something new."""

    failed = Signal(object)
    moved = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._follower: Follower | None = None
        self._state: RunState | None = None
        self._last_stamp: tuple[object, ...] | None = None
        self._history: History | None = None
        self._answers = 0
        self._past_runs = PastRuns(self)
        self._past_runs.found.connect(self._take_history)

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
        self._follower = self._state = self._last_stamp = None

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
        self._past_runs.look_beside(first, second)
        stamp = (first.folder, first.revision, second.folder, second.revision, self._answers)
        if stamp == self._last_stamp:
            return None
        self._last_stamp = stamp
        names = _names((first.folder, second.folder))
        return (
            _side(names[first.folder], first),
            _side(names[second.folder], second),
            self._history,
        )

    def _take_history(self, history: object) -> None:
        self._history = history if isinstance(history, History) else None
        self._answers += 1
        self.moved.emit()

    def _not_a_run(self, error: Exception) -> None:
        if self.sender() is self._follower:
            self.close()
            self.failed.emit(error)


def _side(name: str, state: RunState) -> RunSide:
    cases = [case_series.measured for case_series in ranked(state.series)]
    return side_of_manifest(name, state.manifest, state.environments, cases)


class Baselines(QObject):
    """`failed` carries why a folder is no run; `moved` says that `told` has something new,
    `needed` that verdicts ask for the summaries of every case of the open run."""

    failed = Signal(object)
    needed = Signal()
    moved = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._runs: dict[Path, Follower] = {}
        self._states: dict[Path, RunState] = {}
        self._own_keys: tuple[str, ...] = ()
        self._identities: frozenset[str] = frozenset()
        self._last_request: set[Path] = set()
        self._last_stamp: tuple[object, ...] = ()
        """Of what was told last: kept, so that `is` tells whether it is still that."""

    @property
    def runs(self) -> tuple[Path, ...]:
        """The folders of the other runs, in the order in which they were added."""
        return tuple(self._runs)

    def add_run(self, folder: Path) -> None:
        """Hold the open run's cases against this run's; one that is there already stays."""
        if folder in self._runs:
            return
        follower = self._runs[folder] = Follower(folder, self)
        follower.failed.connect(self._not_a_run)
        follower.moved.connect(self.moved)
        follower.summarise_all()
        follower.start()
        self.needed.emit()

    def set_own(self, keys: Sequence[str]) -> None:
        """Hold all cases against these of their own run."""
        self._own_keys = tuple(keys)
        if keys:
            self.needed.emit()
        self.moved.emit()

    def close(self) -> None:
        """Have none, and follow no other run."""
        for folder in self.runs:
            self._drop(folder)
        self._own_keys = ()
        self.moved.emit()

    def told(self, state: RunState) -> tuple[Baseline, ...] | None:
        """All of them as they stand; None if nothing has moved since they were told last."""
        self._show_alike(state)
        for folder, follower in self._runs.items():
            newest = follower.take()
            if newest is not None and newest.problem is None:
                self._states[folder] = newest
        own_series = [entry for key in self._own_keys if (entry := state.of(key)) is not None]
        now = (*own_series, *self._states.values())
        if len(now) == len(self._last_stamp) and all(map(operator.is_, now, self._last_stamp)):
            return None
        self._last_stamp = now
        names, home = _names(tuple(self._states)), _key(state.folder)
        baselines = [
            Baseline(f"{home}#{entry.key}", entry.label, case_series=entry) for entry in own_series
        ]
        baselines += [
            Baseline(_key(folder), names[folder], run_series=run_state.series)
            for folder, run_state in self._states.items()
        ]
        return tuple(baselines)

    def _show_alike(self, state: RunState) -> None:
        """Have each run read the samples of the cases that are shown of the open one."""
        visible_series = {
            case_series.key: case_series
            for case_series in state.series
            if case_series.key in state.visible_keys
        }
        identities = frozenset(case_series.case.case_id for case_series in visible_series.values())
        same = identity_test(
            (case_series.case, case_series.row.get("host"))
            for case_series in visible_series.values()
        )
        runs = {folder for folder in self._runs if folder in self._states}
        if identities == self._identities and runs == self._last_request:
            return
        self._identities, self._last_request = identities, runs
        for folder in runs:
            cases = self._states[folder].series
            keys = [
                case_series.key
                for case_series in cases
                if same(case_series.case, case_series.row.get("host"))
            ]
            self._runs[folder].choose(keys)

    def _drop(self, folder: Path) -> None:
        follower = self._runs.pop(folder)
        follower.close()
        follower.deleteLater()
        self._states.pop(folder, None)

    def _not_a_run(self, error: Exception) -> None:
        for folder, follower in list(self._runs.items()):
            if follower is self.sender():
                self._drop(folder)
                self.failed.emit(error)


def _key(folder: Path) -> str:
    return str(folder.resolve())


def _names(folders: Sequence[Path]) -> dict[Path, str]:
    """The folders' own names; with their parents' where two are the same."""
    names = [folder.name for folder in folders]
    return {
        folder: folder.name if names.count(folder.name) == 1 else str(Path(*folder.parts[-2:]))
        for folder in folders
    }
