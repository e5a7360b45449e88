"""Baselines of a page: cases of the open run, and other runs that are followed beside it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.gui.follow.follower import Follower
from app.plot_data.series import Baseline
from app.run_folder.hosts import identity_test
from app.runs.following.state import RunState


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
        self._own: tuple[str, ...] = ()
        self._identities: frozenset[str] = frozenset()
        self._asked: set[Path] = set()
        self._given: Mapping[str, str] = {}
        self._told: tuple[object, ...] = ()
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
        self._own = tuple(keys)
        if keys:
            self.needed.emit()
        self.moved.emit()

    def name(self, given: Mapping[str, str]) -> None:
        """Call those with these keys so from now on; all others go by their own names."""
        self._given = dict(given)
        self.moved.emit()

    def close(self) -> None:
        """Have none, and follow no other run."""
        for folder in self.runs:
            self._drop(folder)
        self._own = ()
        self.moved.emit()

    def told(self, state: RunState) -> tuple[Baseline, ...] | None:
        """All of them as they stand; None if nothing has moved since they were told last."""
        self._show_alike(state)
        for folder, follower in self._runs.items():
            newest = follower.take()
            if newest is not None and newest.problem is None:
                self._states[folder] = newest
        own = [one for key in self._own if (one := state.of(key)) is not None]
        now = (*own, *self._states.values(), self._given)
        if len(now) == len(self._told) and all(map(operator.is_, now, self._told)):
            return None
        self._told = now
        names, home = _names(tuple(self._states)), _key(state.folder)
        told = [Baseline(f"{home}#{one.key}", one.label, case_series=one) for one in own]
        told += [
            Baseline(_key(folder), names[folder], run_series=there.series)
            for folder, there in self._states.items()
        ]
        return tuple(replace(one, name=self._given.get(one.key, one.name)) for one in told)

    def _show_alike(self, state: RunState) -> None:
        """Have each run read the samples of the cases that are shown of the open one."""
        shown = {one.key: one for one in state.series if one.key in state.visible_keys}
        identities = frozenset(one.case.identity_id for one in shown.values())
        same = identity_test((one.case, one.row.get("host")) for one in shown.values())
        there = {folder for folder in self._runs if folder in self._states}
        if identities == self._identities and there == self._asked:
            return
        self._identities, self._asked = identities, there
        for folder in there:
            cases = self._states[folder].series
            keys = [one.key for one in cases if same(one.case, one.row.get("host"))]
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
