"""Between the follower of a run and what shows it: hands states on, and redraws on a beat.

One timer drives all views, so nothing is drawn more often than eleven times a second and a
view that nobody sees costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.gui.compared_run import ComparedRun
from app.gui.follower import Follower
from app.gui.launch.card import CardProcess
from app.gui.plots.card_run import CardRun
from app.gui.plots.profile import operator_times
from app.gui.views import VIEWS
from app.results.follow.details import CaseDetails
from app.results.follow.state import RunState

BEAT_MS = 90
_DETAILED = ("graph", "schedule", "profile")
MOST_SHOWN = 12
"""More series than this in one plot can't be told apart."""


class RunFeed(QObject):
    """`opened` carries the first state of a run, `changed` every state, `failed` an error."""

    opened = Signal(object)
    changed = Signal(object)
    failed = Signal(object)
    problem = Signal(str)
    beat = Signal()

    def __init__(self, views: Mapping[str, QWidget], table: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self.state: RunState | None = None
        self._views, self._table = views, table
        self._fed = {kind: [v.key for v in VIEWS if v.fed == kind] for kind in ("shown", "all")}
        self._follower: Follower | None = None
        self._selected: tuple[str, ...] = ()
        self._detailed: tuple[Path, str, int] | None = None
        self._profiled: CaseDetails | None = None
        self._revision = -1
        self._card = CardProcess()
        self.compared = ComparedRun(views["compare"], self)
        self._timer = QTimer(self)
        self._timer.setInterval(BEAT_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_beat)
        self._timer.start()

    @property
    def folder(self) -> Path | None:
        """The run folder that is followed."""
        return self._follower.folder if self._follower else None

    def open(self, folder: Path) -> None:
        """Follow this run from now on; `failed` tells if it is none."""
        self.close_run()
        self._follower = Follower(folder, self)
        self._follower.failed.connect(self._not_a_run)
        self._follower.start()

    def close_run(self) -> None:
        """Follow nothing; what was shown stays until another run is open."""
        if self._follower is not None:
            self._follower.close()
            self._follower.deleteLater()
            self._follower = None
        self.state = None
        self._selected = ()
        self._detailed = self._profiled = None
        self._revision = -1
        self._card.close()

    def close(self) -> None:
        """Stop the beat, the thread and every process."""
        self._timer.stop()
        self.compared.close()
        self.close_run()

    def select(self, keys: Sequence[str]) -> None:
        """Show these cases; none means those that are measured now."""
        self._selected = tuple(keys)[:MOST_SHOWN]
        if self._follower is not None:
            self._follower.choose(self._selected)

    def _not_a_run(self, error: Exception) -> None:
        if self.sender() is self._follower:
            self.close_run()
            self.failed.emit(error)

    def _on_beat(self) -> None:
        state = self._follower.take() if self._follower else None
        if state is not None:
            self._take(state)
        self._show_details()
        self.compared.show_beside(self.state)
        for view in self._views.values():
            view.refresh()
        self.beat.emit()

    def _take(self, state: RunState) -> None:
        first = self.state is None
        had_problem = self.state.problem if self.state else ""
        self.state = state
        if state.problem:
            if state.problem != had_problem:
                self.problem.emit(state.problem)
            self.changed.emit(state)
            return
        chosen = set(state.shown)
        shown = [one for one in state.series if one.key in chosen]
        for key in self._fed["shown"]:
            self._views[key].set_series(shown)
        if state.revision != self._revision:
            self._revision = state.revision
            self._table.set_series(state.series)
            for key in self._fed["all"]:
                self._views[key].set_series(state.series)
        if first:
            self.opened.emit(state)
        self.changed.emit(state)

    def _show_details(self) -> None:
        """Look into one case, once somebody looks at a view that shows it."""
        answer = self._card.poll()
        if isinstance(answer, CardRun):
            self._views["schedule"].set_run(answer)
        elif answer:
            self.problem.emit(answer)
        state = self.state
        if state is None or not any(map(self._seen, _DETAILED)):
            return
        key = self._case_in_focus(state)
        found = state.details.get(key)
        if found is None:
            return
        if found != self._profiled:
            self._profiled = found
            self._show_profile(state, found)
        stamp = (state.folder, key, len(found.elsewhere) + bool(found.engine))
        if stamp != self._detailed:
            self._detailed = stamp
            self._open_details(found)

    def _show_profile(self, state: RunState, found: CaseDetails) -> None:
        view, one = self._views["profile"], state.of(found.case.case_id)
        if one is None or found.profile is None:
            view.set_profile((), one.label if one else "", "wall")
            return
        profile = found.profile
        rows = operator_times(profile, found.engine or found.case.runtime, found.elsewhere)
        view.set_profile(rows, one.label, profile.clock, profile.runs, profile.reason)

    def _open_details(self, found: CaseDetails) -> None:
        model = found.model
        path = Path(model.path)
        self._views["graph"].open_model(path, found.engine, found.elsewhere, name=model.name)
        self._views["schedule"].set_run(None)
        self._card.ask(found)

    def _case_in_focus(self, state: RunState) -> str:
        """The first selected case, else the first shown one on a card, else the first."""
        if self._selected:
            return self._selected[0]
        simulated = {one.key for one in state.series if one.clock == "simulated"}
        on_card = (key for key in state.shown if key in simulated)
        return next(on_card, state.shown[0] if state.shown else "")

    def _seen(self, key: str) -> bool:
        view = self._views[key]
        return view.isVisible() and not view.visibleRegion().isEmpty()
