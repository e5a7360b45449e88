"""Plans to begin with: suites, studies, a first measurement, and their menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton

from app.plan.plan import Plan
from app.plan.plan_files import load_suite, suite_names
from app.plan.settings.sweep import Sweep
from app.plan.studies import shipped_plan, study_names

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
        self.setAccessibleName("presets and suites")
        self.setToolTip("Fill the form with a plan that ships")
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
