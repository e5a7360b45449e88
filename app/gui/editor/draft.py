"""Drafts of the composer: what they begin with, undo steps, checks off the thread of the window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, QThreadPool, Signal
from PySide6.QtGui import QUndoCommand
from PySide6.QtWidgets import QMenu, QPushButton

from app.gui.look.controls import named
from app.plan.plan import Plan
from app.plan.plan_files import load_suite, suite_names
from app.plan.settings.sweep import Sweep
from app.plan.studies import shipped_plan, study_names


class DraftStep(QUndoCommand):
    """One change; those with the same `typing`, what is typed in one go, are one step.

    `typing` is None for a click, which is a step of its own.
    """

    def __init__(
        self,
        text: str,
        typing: tuple[str, int] | None,
        plan_before: Plan,
        plan_after: Plan,
        show: Callable[[Plan], None],
    ) -> None:
        super().__init__(text)
        self._typing = typing
        self._plan_before = plan_before
        self._plan_after = plan_after
        self._show = show

    def id(self) -> int:
        """Qt asks only steps of the same id to merge, and never those of -1."""
        return -1 if self._typing is None else 1

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        if not isinstance(other, DraftStep) or other._typing != self._typing:
            return False
        self._plan_after = other._plan_after
        return True

    def undo(self) -> None:
        self._show(self._plan_before)

    def redo(self) -> None:
        self._show(self._plan_after)


class Background(QObject):
    """`ask(key, work, answer)`: only the newest question of a key is answered."""

    _result_ready = Signal(str, int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._newest: dict[str, int] = {}
        self._result_ready.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def ask(
        self,
        key: str,
        work: Callable[[], Any],
        answer: Callable[[Any], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        """Call `work` in the thread, then `answer` with its result or `on_error` with its error."""
        number = self._newest.get(key, 0) + 1
        self._newest[key] = number

        def run() -> None:
            if self._newest[key] != number:
                return
            try:
                reply = partial(answer, work())
            except Exception as error:
                reply = partial(on_error, error)
            self._result_ready.emit(key, number, reply)

        self._pool.start(run)

    def close(self) -> None:
        """Drop the questions that wait and let the one in work end; no answer comes after."""
        self._newest = {key: number + 1 for key, number in self._newest.items()}
        self._pool.clear()
        self._pool.waitForDone()

    def _deliver(self, key: str, number: int, reply: Callable[[], None]) -> None:
        if self._newest.get(key) == number:
            reply()


FIRST = Plan(
    name="first-look",
    sweeps=(Sweep(models=("cnn_tiny", "lstm_tiny"), runtimes=("ort-cpu",)),),
)
"""Two small models on the runtime that every installation has: a result in seconds."""


class PresetButton(QPushButton):
    """`chosen` carries a draft and what to call the step in the undo list."""

    chosen = Signal(object, str)

    def __init__(self) -> None:
        super().__init__("Start from a suite or study")
        named(self, "presets and suites", "Fill the form with a plan that ships")
        menu = QMenu(self)
        self.setMenu(menu)
        menu.addAction("First measurement", lambda: self.chosen.emit(FIRST, "first measurement"))
        for heading, names, load in (
            ("Suites", suite_names(), load_suite),
            ("Studies", study_names(), lambda name: shipped_plan(f"study-{name}")),
        ):
            menu.addSection(heading)
            for name in names:
                menu.addAction(name, partial(self._choose, name, load))

    def _choose(self, name: str, load: Callable[[str], Plan]) -> None:
        self.chosen.emit(load(name), f"preset {name}")
