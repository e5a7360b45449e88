"""Between the follower of a run and what shows it: hands states on, and redraws on a beat.

One timer drives all views, so nothing is drawn more often than eleven times a second and a
view that nobody sees costs nothing. It stands still while nothing moves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.analysis.plot_data.card import CardRun
from app.analysis.plot_data.series import Series
from app.gui.follow import Baselines, ComparedRun, Follower, PastRuns, has_others
from app.gui.launch import CardProcess, DamageCheck, damaged_cases
from app.gui.plots.read.reading import Brush, Lit
from app.gui.tables.results import ResultsTable
from app.gui.views import Views
from app.run_folder.files import Finding, Problem
from app.runs.following.state import CaseDetails, RunState
from app.runs.history.run_comparison import RunSide
from app.runs.history.trends import History

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

    def __init__(self, views: Views, table: ResultsTable, parent: QObject) -> None:
        super().__init__(parent)
        self.state: RunState | None = None
        self._views, self._table = views, table
        self._follower: Follower | None = None
        self._next: Follower | None = None
        self._quiet, self._is_held, self._is_closed = 0, False, False
        self._selected_keys: tuple[str, ...] = ()
        self._selected_count = 0
        self._focus = ""
        self._filter: frozenset[str] | None = None
        self._read: RunState | None = None
        self._findings: tuple[Finding, ...] = ()
        self._checked_folder: Path | None = None
        self._damage_cache: dict[str, tuple[Series, Series]] = {}
        self._pair: tuple[RunSide, RunSide, History | None] | None = None
        self.damage = DamageCheck(self)
        self.damage.found.connect(self._take_damage)
        self.lit: Lit | None = None
        self._shown_details: CaseDetails | None = None
        self._revision = -1
        self._card = CardProcess()
        self.past = PastRuns(self)
        self.past.found.connect(views.history.set_history)
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
        if not self._timer.isActive() and not self._is_closed:
            self._timer.start()

    def stay_awake(self, held: bool) -> None:
        """Beat for as long as this holds, as while a batch process of ours runs."""
        self._is_held = held
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
        self._findings, self._checked_folder, self._damage_cache = (), None, {}
        self._pair = None
        self._selected_keys = ()
        self._focus = ""
        self._shown_details = None
        self._revision = -1
        self.show_brush(None)
        self._card.close()

    def close(self) -> None:
        """Stop the beat, the threads and every process."""
        self._is_closed = True
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
        self._selected_count = len(keys)
        self._selected_keys = tuple(keys)[:MOST_SHOWN]
        self._frame(keys)
        if self._follower is not None:
            self._follower.choose(self._selected_keys)

    def set_filter(self, keys: frozenset[str] | None) -> None:
        """Show these cases alone in every view; None for all."""
        if keys != self._filter:
            self._filter = keys
            self._revision = -1
            if self.state is not None:
                self._feed(self.state)

    def _passing(self, series: Collection[Series]) -> list[Series]:
        """Those that the filter lets through."""
        return [s for s in series if self._filter is None or s.key in self._filter]

    def look_at(self, key: str, keys: Sequence[str]) -> bool:
        """Inspect a case that was clicked in a plot; whether all of `keys` are shown as it is, so
        that nothing else has to be."""
        visible_keys = self.state.visible_keys if self.state else ()
        self._focus = key
        self._frame(keys)
        self.wake()
        return set(keys) <= set(visible_keys)

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
        is_over = self.state is not None and not self.state.alive
        if is_over and any(v.takes_rounds and v.is_in_sight for v in self._views.by_key.values()):
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
        busy = self._is_held or alive or self._next is not None or self._card.is_busy
        self._quiet = 0 if busy or state is not None else self._quiet + 1
        if self._quiet > QUIET_BEATS:
            self._timer.stop()

    def _take_damage(self, folder: Path, findings: tuple[Finding, ...]) -> None:
        """Say what is damaged wherever the run is told of, and at the cases that it is of."""
        if findings and self._read is not None and folder == self.folder:
            self._findings = findings
            self._revision = -1
            self._take(self._read)

    def _with_damage(self, state: RunState) -> RunState:
        """The run with what a check of its files has found, who sees more than a follower."""
        if state.alive or state.folder != self._checked_folder:
            self._findings = ()
        waits = self._is_held or state.alive  # a check reads every sample, beside no measurement
        if not waits and state.folder != self._checked_folder and state.problem is None:
            self._checked_folder = state.folder
            self.damage.look(state.folder)
        if not self._findings:
            return state
        damage_by_key = damaged_cases(self._findings)
        series = tuple(
            self._mark_damage(item, damage_by_key[item.key]) if item.key in damage_by_key else item
            for item in state.series
        )
        problems = tuple(
            Problem(f"{item.file} {item.problem}", item.remedy) for item in self._findings
        )
        return replace(state, series=series, damaged=problems)

    def _mark_damage(self, series: Series, damage: str) -> Series:
        """The same value for the same series: views keep what they made of it."""
        entry = self._damage_cache.get(series.key)
        if entry is None or entry[0] is not series:
            entry = self._damage_cache[series.key] = series, replace(series, damage=damage)
        return entry[1]

    def _take(self, state: RunState) -> None:
        first = self.state is None
        known_count = 0 if self._read is None else len(self._read.damaged)
        was_readable = self._read is None or self._read.problem is None
        self._read = state
        self.state = state
        if state.problem is not None:
            if was_readable:  # a folder that vanishes bit by bit has one problem after another
                self.failed.emit(state.problem.error)
            self.changed.emit(state)
            return
        for damage in state.damaged[
            known_count : known_count + 1
        ]:  # all of them stand below the tool bar
            self.failed.emit(damage.error)
        self.state = state = self._with_damage(state)
        self._feed(state)
        if first:
            self._views.history.set_others(has_others(state.folder))
            self.opened.emit(state)
        self.changed.emit(state)

    def _feed(self, state: RunState) -> None:
        """Hand the series to whoever shows them."""
        visible_keys = set(state.visible_keys)
        series = self._passing(
            [case_series for case_series in state.series if case_series.key in visible_keys]
        )
        self.shown.emit(series)
        part = self._part_of(len(series), len(state.series))
        for plot in self._views.shown:
            plot.set_series(series)
            plot.show_part(part)
        if state.revision != self._revision:
            self._revision = state.revision
            self._table.set_series(state.series)
            self.listed.emit(state.series)
            passing = self._passing(state.series)
            for view in self._views.all:
                view.set_series(passing)
            self._feed_pair()

    def _part_of(self, visible_count: int, cases: int) -> str:
        """Which part of the cases the plots show, "" if all."""
        if self._selected_keys and self._selected_count > visible_count:
            return f"{visible_count} of {self._selected_count:,} selected cases shown"
        if self._selected_keys or visible_count == cases:
            return ""
        return f"{visible_count} of {cases:,} cases shown"

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
        ids = {case.case.case_id for case in self._passing(self.state.series)}
        cases = tuple(case for case in first.cases if case.case.case_id in ids)
        self._views.compare.set_runs(replace(first, cases=cases), second, history)

    def _look_back(self) -> None:
        """Read the runs beside this one, once somebody looks at their history."""
        if self.state is None or not self._views.history.is_in_sight:
            return
        case = self.state.of(self._case_in_focus(self.state))
        if case is not None:
            self.past.look(self.state)
            self._views.history.set_case(case.case.case_id, case.label)

    def _show_details(self) -> None:
        """Look into one case, once somebody looks at a view that shows it."""
        answer = self._card.poll()
        if isinstance(answer, CardRun):
            self._views.schedule.set_run(answer)
        elif answer is not None:
            self.failed.emit(answer)
        state = self.state
        views = (self._views.operators, self._views.schedule)
        if state is None or not any(view.is_in_sight for view in views):
            return
        key = self._case_in_focus(state)
        case, details = state.of(key), state.details.get(key)
        if case is None or details is None or details == self._shown_details:
            return
        details_before, self._shown_details = self._shown_details, details
        self._views.operators.set_details(details, case)
        if (
            details_before is None
            or details.without_operators() != details_before.without_operators()
        ):
            self._views.schedule.set_run(None)
            self._card.ask(details)

    def _case_in_focus(self, state: RunState) -> str:
        """The case that was clicked, else the first selected one, else the first shown one on a
        card, else the first."""
        if self._focus in state.visible_keys:
            return self._focus
        if self._selected_keys:
            return self._selected_keys[0]
        simulated = {
            case_series.key for case_series in state.series if case_series.clock == "simulated"
        }
        on_card = (key for key in state.visible_keys if key in simulated)
        return next(on_card, state.visible_keys[0] if state.visible_keys else "")
