"""Between the follower of a run and what shows it: hands states on, and redraws on a beat.

One timer drives all views, so nothing is drawn more often than eleven times a second and a
view that nobody sees costs nothing. It stands still while nothing moves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.capabilities.simulated_card.inference import CardRun
from app.gui.follow import Baselines, ComparedRun, Follower, PastRuns, has_others
from app.gui.launch.own_command import CardProcess, DamageCheck, damaged_cases
from app.gui.plots.base import PlotView
from app.gui.plots.read.lit import Lit
from app.gui.plots.read.reading import Brush
from app.gui.views import VIEWS, SeriesView, Views
from app.history.run_comparison import RunSide
from app.history.trends import History
from app.plot_data.series import Series
from app.run_folder.files import Finding, Problem
from app.runs.following.state import CaseDetails, RunState

BEAT_MS = 90
QUIET_BEATS = 5
"""After so many without news the beat stops, until something wakes it."""
MOST_SHOWN = 40
"""More series than this nobody looks through, row by row."""


class RunFeed(QObject):
    """`opened` carries the first state of a run, `changed` every state, `listed` all series,
    `shown` those that plots show, `held_against` the baselines, `failed` an error."""

    opened = Signal(object)
    changed = Signal(object)
    listed = Signal(object)
    shown = Signal(object)
    held_against = Signal(object)
    failed = Signal(object)
    beat = Signal()

    def __init__(self, views: Views, table: SeriesView, parent: QObject) -> None:
        super().__init__(parent)
        self.state: RunState | None = None
        self._views, self._table = views, table
        self._inspected = [views.by_key[v.key] for v in VIEWS if v.fed in ("details", "card")]
        self._follower: Follower | None = None
        self._next: Follower | None = None
        self._quiet, self._held, self._closed = 0, False, False
        self._selected: tuple[str, ...] = ()
        self._chosen = 0
        self._focus = ""
        self._filter: frozenset[str] | None = None
        self._read: RunState | None = None
        self._findings: tuple[Finding, ...] = ()
        self._checked: Path | None = None
        self._broken: dict[str, tuple[Series, Series]] = {}
        self._pair: tuple[RunSide, RunSide, History | None] | None = None
        self.damage = DamageCheck(self)
        self.damage.found.connect(self._take_damage)
        self.lit: Lit | None = None
        self._detailed: CaseDetails | None = None
        self._revision = -1
        self._card = CardProcess()
        self.past = PastRuns(self)
        for past in views.past:
            self.past.found.connect(past.set_history)
        self.baselines = Baselines(self)
        self.baselines.failed.connect(self.failed)
        self.baselines.moved.connect(self.wake)
        self.baselines.needed.connect(self.summarise_all)
        self.compared = ComparedRun(self)
        self.compared.failed.connect(self.failed)
        self.compared.moved.connect(self.wake)
        for view in views.by_key.values():
            view.stale.connect(self.wake)
            view.brushed.connect(self.show_brush)
        self._timer = QTimer(self)
        self._timer.setInterval(BEAT_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_beat)
        self.wake()

    @property
    def folder(self) -> Path | None:
        """The run folder that is followed."""
        return self._follower.folder if self._follower else None

    @property
    def opening(self) -> Path | None:
        """The run folder that will be followed once it has been read."""
        return self._next.folder if self._next else None

    @property
    def is_awake(self) -> bool:
        return self._timer.isActive()

    def wake(self) -> None:
        """Let the beat go on: something has moved, or is about to."""
        self._quiet = 0
        if not self._timer.isActive() and not self._closed:
            self._timer.start()

    def stay_awake(self, held: bool) -> None:
        """Beat for as long as this holds, as while a batch process of ours runs."""
        self._held = held
        self.wake()

    def open(self, folder: Path) -> None:
        """Follow this run once it has been read; one that is none is told by `failed`, and the run
        that is open stays."""
        self._drop_next()
        self._next = Follower(folder, self)
        self._next.failed.connect(self._not_a_run)
        self._next.moved.connect(self.wake)
        if self.compared.is_open or self.baselines.runs:
            self._next.summarise_all()
        self._next.start()
        self.wake()

    def compare(self, folder: Path) -> None:
        """Lay a second run beside whichever is open."""
        self.compared.open(folder)
        self.summarise_all()

    def summarise_all(self) -> None:
        """Have the rounds' own figures of every case, as comparing takes them."""
        if self._follower is not None:
            self._follower.summarise_all()

    def close_run(self) -> None:
        """Follow nothing; what was shown stays until another run is open."""
        if self._follower is not None:
            self._follower.close()
            self._follower.deleteLater()
            self._follower = None
        self.state = self._read = None
        self.damage.close()
        self._findings, self._checked, self._broken = (), None, {}
        self._pair = None
        self._selected = ()
        self._focus = ""
        self._detailed = None
        self._revision = -1
        self.show_brush(None)
        self._card.close()

    def close(self) -> None:
        """Stop the beat, the threads and every process."""
        self._closed = True
        self._timer.stop()
        self.damage.close()
        self.past.close()
        self.compared.close()
        self.baselines.close()
        self._drop_next()
        self.close_run()

    def select(self, keys: Sequence[str]) -> None:
        """Show these cases; none means those that are measured now."""
        self._focus = ""
        self._chosen = len(keys)
        self._selected = tuple(keys)[:MOST_SHOWN]
        self._frame(keys)
        if self._follower is not None:
            self._follower.choose(self._selected)

    def set_filter(self, keys: frozenset[str] | None) -> None:
        """Show these cases alone in every view; None for all."""
        if keys != self._filter:
            self._filter = keys
            self._revision = -1
            if self.state is not None:
                self._feed(self.state)

    def _passing(self, series: Collection[Series]) -> list[Series]:
        """Those that the filter lets through."""
        return [one for one in series if self._filter is None or one.key in self._filter]

    def look_at(self, key: str, keys: Sequence[str]) -> bool:
        """Inspect a case that was clicked in a plot; whether all of `keys` are shown as it is, so
        that nothing else has to be."""
        shown = self.state.visible_keys if self.state else ()
        self._focus = key
        self._frame(keys)
        self.wake()
        return set(keys) <= set(shown)

    def _frame(self, keys: Sequence[str]) -> None:
        for view in self._views.by_key.values():
            view.show_selected(keys)

    def show_brush(self, brush: Brush | None) -> None:
        """Light up the samples that are marked in every view of what is shown."""
        self.lit = Lit(brush) if brush is not None else None
        for view in self._views.shown:
            view.show_brush(self.lit)

    def _not_a_run(self, error: Exception) -> None:
        if self.sender() is self._next:
            self._drop_next()
            self.failed.emit(error)

    def _drop_next(self) -> None:
        if self._next is not None:
            self._next.close()
            self._next.deleteLater()
            self._next = None

    def _newest(self) -> RunState | None:
        """The open run as it is now, or the one that was asked for, which then is the open one."""
        coming = self._next.take() if self._next else None
        if coming is None:
            return self._follower.take() if self._follower else None
        self.close_run()
        self._follower, self._next = self._next, None
        return coming

    def _on_beat(self) -> None:
        state = self._newest()
        if state is not None:
            self._take(state)
        over = self.state is not None and not self.state.alive
        if over and any(v.takes_rounds and v.is_in_sight for v in self._views.by_key.values()):
            self.summarise_all()
        self._show_details()
        self._show_pair()
        self._look_back()
        baselines = self.baselines.told(self.state) if self.state else None
        if baselines is not None:
            self.held_against.emit(baselines)
        for view in self._views.by_key.values():
            view.refresh()
        self.beat.emit()
        alive = self.state is not None and self.state.alive
        busy = self._held or alive or self._next is not None or self._card.is_busy
        self._quiet = 0 if busy or state is not None else self._quiet + 1
        if self._quiet > QUIET_BEATS:
            self._timer.stop()

    def _take_damage(self, folder: Path, found: tuple[Finding, ...]) -> None:
        """Say what is damaged wherever the run is told of, and at the cases that it is of."""
        if found and self._read is not None and folder == self.folder:
            self._findings = found
            self._revision = -1
            self._take(self._read)

    def _with_damage(self, state: RunState) -> RunState:
        """The run with what a check of its files has found, who sees more than a follower."""
        if state.alive or state.folder != self._checked:
            self._findings = ()
        waits = self._held or state.alive  # a check reads every sample, beside no measurement
        if not waits and state.folder != self._checked and state.problem is None:
            self._checked = state.folder
            self.damage.look(state.folder)
        if not self._findings:
            return state
        broken = damaged_cases(self._findings)
        series = tuple(
            self._damaged(one, broken[one.key]) if one.key in broken else one
            for one in state.series
        )
        problems = tuple(Problem(f"{one.file} {one.problem}", one.remedy) for one in self._findings)
        return replace(state, series=series, damaged=problems)

    def _damaged(self, series: Series, damage: str) -> Series:
        """The same value for the same series: views keep what they made of it."""
        known = self._broken.get(series.key)
        if known is None or known[0] is not series:
            known = self._broken[series.key] = series, replace(series, damage=damage)
        return known[1]

    def _take(self, state: RunState) -> None:
        first = self.state is None
        known = 0 if self._read is None else len(self._read.damaged)
        self._read = state
        self.state = state
        if state.problem is not None:
            self.failed.emit(state.problem.error)
            self.changed.emit(state)
            return
        for damaged in state.damaged[known : known + 1]:  # all of them stand below the tool bar
            self.failed.emit(damaged.error)
        self.state = state = self._with_damage(state)
        self._feed(state)
        if first:
            others = has_others(state.folder)
            for view in self._views.past:
                view.set_others(others)
            self.opened.emit(state)
        self.changed.emit(state)

    def _feed(self, state: RunState) -> None:
        """Hand the series to whoever shows them."""
        chosen = set(state.visible_keys)
        shown = self._passing([one for one in state.series if one.key in chosen])
        self.shown.emit(shown)
        part = self._part_of(len(shown), len(state.series))
        for plot in self._views.shown:
            plot.set_series(shown)
            plot.show_part(part)
        if state.revision != self._revision:
            self._revision = state.revision
            self._table.set_series(state.series)
            self.listed.emit(state.series)
            passing = self._passing(state.series)
            for view in self._views.all:
                view.set_series(passing)
            self._feed_pair()

    def _part_of(self, shown: int, cases: int) -> str:
        """Which part of the cases the plots show, "" if all."""
        if self._selected and self._chosen > shown:
            return f"{shown} of {self._chosen:,} selected cases shown"
        return "" if self._selected or shown == cases else f"{shown} of {cases:,} cases shown"

    def _show_pair(self) -> None:
        sides = self.compared.beside(self.state) if self.state else None
        if sides is not None:
            self._pair = sides
            self._feed_pair()

    def _feed_pair(self) -> None:
        """Both runs, of the first one the cases that the filter lets through."""
        if self._pair is None or self.state is None:
            return
        first, second, history = self._pair
        ids = {one.case.case_id for one in self._passing(self.state.series)}
        cases = tuple(one for one in first.cases if one.case.case_id in ids)
        for view in self._views.pair:
            view.set_runs(replace(first, cases=cases), second, history)

    def _look_back(self) -> None:
        """Read the runs beside this one, once somebody looks at their history."""
        seen = [
            view for view in self._views.past if isinstance(view, PlotView) and view.is_in_sight
        ]
        case = self.state.of(self._case_in_focus(self.state)) if self.state and seen else None
        if self.state is not None and case is not None:
            self.past.look(self.state)
            for view in seen:
                view.set_case(case.case.identity_id, case.label)

    def _show_details(self) -> None:
        """Look into one case, once somebody looks at a view that shows it."""
        answer = self._card.poll()
        if isinstance(answer, CardRun):
            self._show_card(answer)
        elif answer is not None:
            self.failed.emit(answer)
        state = self.state
        if state is None or not any(view.is_in_sight for view in self._inspected):
            return
        key = self._case_in_focus(state)
        case, found = state.of(key), state.details.get(key)
        if case is None or found is None or found == self._detailed:
            return
        before, self._detailed = self._detailed, found
        for view in self._views.details:
            view.set_details(found, case.label)
        if before is None or found.without_operators() != before.without_operators():
            self._show_card(None)
            self._card.ask(found)

    def _show_card(self, run: CardRun | None) -> None:
        for view in self._views.card:
            view.set_run(run)

    def _case_in_focus(self, state: RunState) -> str:
        """The case that was clicked, else the first selected one, else the first shown one on a
        card, else the first."""
        if self._focus in state.visible_keys:
            return self._focus
        if self._selected:
            return self._selected[0]
        simulated = {one.key for one in state.series if one.clock == "simulated"}
        on_card = (key for key in state.visible_keys if key in simulated)
        return next(on_card, state.visible_keys[0] if state.visible_keys else "")
