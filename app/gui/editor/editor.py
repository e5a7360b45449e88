"""The composer of a sweep: what, where and how long, over one draft, with undo and an estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent, QUndoStack
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from app.formatting.text import counted, duration
from app.gui.editor.draft import Background, DraftStep, PresetButton
from app.gui.editor.fields import Fold
from app.gui.editor.grid_form import GridForm
from app.gui.editor.pickers import runtime_facts
from app.gui.editor.plan_form import PlanForm
from app.gui.look.controls import heading, lay, named, restyle, scroll_area, tool_button
from app.gui.look.text import PlainLabel, in_fields
from app.plan.estimate import Estimate, check_plan, model_faults
from app.plan.expand import sizes_assumed
from app.plan.plan import EMPTY, EMPTY_GRID, Plan, checked, with_grid
from app.plan.plan_files import load_plan
from app.plan.runtime_selection import with_default_runtimes
from app.plan.settings.sweep import Sweep
from exporters.types import GraphlapError
from runtimes import registry


class Footer(QFrame):
    """Its buttons can be pressed only while `ready`."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("footer")
        self.verdict = named(PlainLabel(wrap=True), "number of cases and expected time")
        run, queue, copy = map(QPushButton, ("Run", "Queue", "Copy command"))
        self.run_button = named(run, tip="Start measuring (F5)", objectName="primary")
        self.queue_button = named(queue, tip="Measure this after the sweeps that run or wait")
        self.copy_button = named(copy, tip="Copy the command line that measures the same cases")
        lay(QHBoxLayout(self), (self.verdict, 1), copy, queue, run, margins=(16, 8, 16, 8))

    def tell(self, text: str, *, wrong: bool, ready: bool) -> None:
        """Say this, as a fault where it is one."""
        self.verdict.setText(text[:1].upper() + text[1:])
        restyle(self.verdict, wrong=wrong)
        for button in (self.run_button, self.queue_button, self.copy_button):
            button.setEnabled(ready)


def told(forecast: Estimate) -> str:
    """The cases, their rounds and the time that they take, in a line."""
    qualifier = "" if forecast.exact else "up to "
    if forecast.search:
        searches = counted(forecast.cases, "search")
        return f"{qualifier}{searches}, {duration(forecast.shortest_s)} for each first try"
    cases = f"{qualifier}{counted(forecast.cases, 'case')}"
    short, long = duration(forecast.shortest_s), duration(forecast.longest_s)
    rounds = counted(forecast.rounds, "round")
    if forecast.maximum_rounds > forecast.rounds:
        rounds = f"{forecast.rounds} to {forecast.maximum_rounds} rounds"
    return f"{cases}, {rounds} each, {short} to {long}"


CHECK_AFTER_MS = 200
"""How long nobody may have typed before the plan is checked as a whole."""
_FIRST_OF_PLAN = frozenset(
    {"name", "seed", "sweeps", "profile", "rounds", "profile_ops", "largest_batch", "memory_limit"}
)
_FIRST_OF_GRID = frozenset({"models", "runtimes", "batch_size", "sequence_length", "threads"})
"""What is in sight without opening Advanced, beside the name and the seed."""
_SIDE_BY_SIDE, _WIDEST = 56, 100
"""In heights of a line of text."""


class SweepEditor(QWidget):
    """`run_asked` carries a checked plan and its estimate, `queue_asked` likewise. `models_asked`:
    somebody wants to measure before a model is chosen."""

    run_asked = Signal(object, object)
    queue_asked = Signal(object, object)
    copy_asked = Signal()
    close_asked = Signal()
    models_asked = Signal()
    failed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.draft = EMPTY
        self.estimate: Estimate | None = None
        self.undo_stack = QUndoStack(self)
        self._background = Background(self)
        self._index = 0
        self.preset_button = PresetButton()
        self.preset_button.chosen.connect(self.set_draft)
        self.grid_form = GridForm()
        self.plan_form = PlanForm()
        self.footer = Footer()
        self._lay_out()
        self.footer.run_button.clicked.connect(self.ask_to_run)
        self.footer.queue_button.clicked.connect(self.ask_to_queue)
        self.footer.copy_button.clicked.connect(self.copy_asked)
        self._check_timer = QTimer(self, singleShot=True, interval=CHECK_AFTER_MS)
        self._check_timer.timeout.connect(self._check)
        self.plan_form.edited.connect(lambda field, draft: self._edit(field, field, draft))
        self.grid_form.edited.connect(self._grid_edited)
        self.grid_form.models.refused.connect(self.failed)
        self.tabs.currentChanged.connect(self._tab_chosen)
        self._visits = 0
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._visit)
        self._show(self.draft)

    def _visit(self, *_: object) -> None:
        """Another field has the focus: what is typed there, or here again, is another step."""
        self._visits += 1

    def _lay_out(self) -> None:
        self.tabs = named(QTabBar(drawBase=False), "grids of the sweep")
        hint = "Add another grid of models, runtimes and settings to the sweep"
        self.add_grid = tool_button("Add a grid", "add a grid", hint)
        hint = "Remove this grid from the sweep"
        self.remove_grid = tool_button("Remove grid", "remove this grid", hint)
        self.add_grid.clicked.connect(self._add_grid)
        self.remove_grid.clicked.connect(self._remove_grid)
        self.close_button = tool_button("Close", "close", "Back to where you were (Escape)")
        self.close_button.clicked.connect(self.close_asked)
        buttons = (self.preset_button, self.tabs, self.remove_grid, 1, self.close_button)
        header = lay(QHBoxLayout(), heading("New sweep"), *buttons, margins=(16, 10, 16, 4))
        self._steps = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._steps.setSpacing(24)
        steps = (
            ("1  What", self.grid_form.what),
            ("2  Where", self.grid_form.where),
            ("3  How long", self.plan_form.bar),
        )
        for title, part in steps:
            self._steps.addWidget(_step(title, part), 1)
        rest = QWidget()
        column = QVBoxLayout(rest)
        column.addWidget(self.add_grid, 0, Qt.AlignmentFlag.AlignLeft)
        forms = (self.plan_form.rest, self.grid_form.rest, self.plan_form)
        lay(column, *forms, margins=(8, 0, 0, 0))
        hint = "Name, precision, scenarios, options of runtimes, verdicts, limits, files"
        self.advanced = Fold("Advanced", hint, rest)
        inner = QWidget()
        inner.setMaximumWidth(_WIDEST * self.fontMetrics().height())
        lay(QVBoxLayout(inner), self._steps, self.advanced, 0, margins=(16, 4, 16, 8))
        self.area = scroll_area("form of the sweep", inner)
        lay(QVBoxLayout(self), header, (self.area, 1), self.footer, spacing=0)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """The steps stand side by side where there is room for all of them."""
        super().resizeEvent(event)
        way = QBoxLayout.Direction
        wide = self.width() >= _SIDE_BY_SIDE * self.fontMetrics().height()
        self._steps.setDirection(way.LeftToRight if wide else way.TopToBottom)

    def learn_runtimes(self) -> None:
        """Ask every runtime what is here, off the window's thread."""
        for name in registry.names():
            self._background.ask(
                f"runtime {name}",
                partial(runtime_facts, name),
                self.grid_form.runtimes.show_facts,
                self.failed.emit,
            )
        self._check_timer.start()

    def set_draft(self, draft: Plan, text: str) -> None:
        """Replace the whole draft in one step that can be undone."""
        self._edit("", text, draft)

    def open_plan(self, path: Path) -> None:
        """Show a TOML plan; PlanError if it is none."""
        self.set_draft(load_plan(path), f"open {path.name}")

    def plan(self) -> Plan:
        """The plan as it stands; GraphlapError names what a field or the plan lacks."""
        if self.grid_form.problem:
            raise GraphlapError(self.grid_form.problem)
        if self.plan_form.fault:
            raise self.plan_form.fault
        return checked(self.draft)

    def ask_to_run(self) -> None:
        self._ask(self.run_asked)

    def ask_to_queue(self) -> None:
        self._ask(self.queue_asked)

    def close_background(self) -> None:
        """Wait for what is asked off the window's thread."""
        self._check_timer.stop()
        self._background.close()

    def _ask(self, signal: SignalInstance) -> None:
        """Check the whole plan once more, then emit it; what is wrong goes to `failed`."""
        if not _models(self.draft):
            self.models_asked.emit()
            return
        try:
            plan = self.plan()
        except GraphlapError as error:
            self.failed.emit(error)
            return
        draft = self.draft
        self._background.ask(
            "ask",
            lambda: _looked_into(draft, plan),
            lambda result: signal.emit(*result),
            self.failed.emit,
        )

    def _grid_edited(self, field: str, grid: Sweep) -> None:
        self._edit(f"{self._index} {field}", field, with_grid(self.draft, self._index, grid))

    def _edit(self, field: str, text: str, draft: Plan) -> None:
        if draft == self.draft:
            self._check_timer.start()  # a field may have become wrong, or right again
            return
        words = f"change {text.replace('_', ' ')}" if field else text
        in_line = isinstance(QApplication.focusWidget(), QLineEdit)
        typing = (field, self._visits) if field and in_line else None
        self.undo_stack.push(DraftStep(words, typing, self.draft, draft, self._show))

    def _show(self, draft: Plan) -> None:
        self.draft = draft
        self._index = min(self._index, len(draft.sweeps) - 1)
        self.plan_form.show_draft(draft)
        self.grid_form.show_grid(draft.sweeps[self._index])
        self._show_tabs(len(draft.sweeps))
        if _is_advanced(draft):
            self.advanced.open()
        self._check_timer.start()

    def _show_tabs(self, grids: int) -> None:
        self.tabs.blockSignals(True)
        while self.tabs.count() > grids:
            self.tabs.removeTab(self.tabs.count() - 1)
        while self.tabs.count() < grids:
            self.tabs.addTab(f"Grid {self.tabs.count() + 1}")
        self.tabs.setCurrentIndex(self._index)
        self.tabs.blockSignals(False)
        for widget in (self.tabs, self.remove_grid):
            widget.setVisible(grids > 1)

    def _tab_chosen(self, index: int) -> None:
        self._index = index
        self.grid_form.show_grid(self.draft.sweeps[index])

    def _add_grid(self) -> None:
        grids = (
            *self.draft.sweeps,
            EMPTY_GRID.model_copy(update={"runtimes": self.draft.sweeps[self._index].runtimes}),
        )
        self._index = len(grids) - 1
        self._edit("", "add a grid", self.draft.model_copy(update={"sweeps": grids}))

    def _remove_grid(self) -> None:
        grids = tuple(g for place, g in enumerate(self.draft.sweeps) if place != self._index)
        self._edit("", "remove a grid", self.draft.model_copy(update={"sweeps": grids}))

    def _look_into_files(self) -> None:
        """Have the user's own files read; those that are known are not read again."""
        models = _models(self.draft)
        self._background.ask(
            "files", lambda: model_faults(models), self._show_faults, self.failed.emit
        )

    def _show_faults(self, faults: Mapping[str, GraphlapError]) -> None:
        self.grid_form.models.show_faults(faults)
        if faults and faults.keys() >= set(_models(self.draft)):
            self._tell(str(next(iter(faults.values()))), wrong=True)

    def _check(self) -> None:
        """Tell the number of cases and the time, or what is missing."""
        try:
            plan = self.plan()
        except GraphlapError as error:
            empty = not any(grid.models for grid in self.draft.sweeps)
            self._tell("Choose a model first." if empty else str(error), wrong=not empty)
            return
        draft, grid = self.draft, plan.sweeps[self._index]
        self._background.ask(
            "check",
            lambda: (_measured(draft, plan)[1], sizes_assumed(plan), _engines(plan, grid)),
            lambda result: self._show_checked(*result),
            lambda error: self._tell(str(error), wrong=True),
        )
        self._look_into_files()

    def _show_checked(
        self, forecast: Estimate, sizes: Mapping[str, Mapping[str, int]], engines: Sequence[str]
    ) -> None:
        self.estimate = forecast
        self._tell(told(forecast), wrong=False)
        self.grid_form.runtimes.show_defaults(engines)
        self.grid_form.models.show_assumed(sizes)

    def _tell(self, text: str, wrong: bool) -> None:
        ready = not wrong and any(grid.models for grid in self.draft.sweeps)
        self.footer.tell(in_fields(text), wrong=wrong, ready=ready)


def _models(draft: Plan) -> list[str]:
    return sorted({name for grid in draft.sweeps for name in grid.models})


def _is_advanced(draft: Plan) -> bool:
    """Whether it sets what stands below Advanced."""
    plan = (key for key in type(EMPTY).model_fields if key not in _FIRST_OF_PLAN)
    grid = [key for key in type(EMPTY_GRID).model_fields if key not in _FIRST_OF_GRID]
    return any(getattr(draft, key) != getattr(EMPTY, key) for key in plan) or any(
        getattr(sweep, key) != getattr(EMPTY_GRID, key) for sweep in draft.sweeps for key in grid
    )


def _measured(draft: Plan, plan: Plan) -> tuple[Plan, Estimate]:
    """The plan with the engines that it measures where it names none, and what it comes to."""
    measured_plan = with_default_runtimes(plan)
    return measured_plan, check_plan(with_default_runtimes(draft), measured_plan)


def _engines(plan: Plan, grid: Sweep) -> list[str]:
    """Those that measure a grid which names none."""
    part = plan.model_copy(update={"sweeps": (grid,)})
    sweeps = with_default_runtimes(part).sweeps
    return list(dict.fromkeys(name for sweep in sweeps for name in sweep.runtimes))


def _looked_into(draft: Plan, plan: Plan) -> tuple[Plan, Estimate]:
    """What is measured and what it comes to; of a plan whose files are all unreadable, the first
    one's fault."""
    models = _models(draft)
    faults = model_faults(models)
    if faults.keys() >= set(models):
        raise faults[models[0]]
    return _measured(draft, plan)


def _step(title: str, part: QWidget) -> QWidget:
    """A part of the form below its title, at the top of its column."""
    step = QWidget()
    lay(QVBoxLayout(step), heading(title), part, 1)
    return step
