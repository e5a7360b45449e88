"""Plans to begin with: suites, studies, a first measurement, the user's own, and their menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QPushButton

from app.cases.errors import PlanError
from app.gui.look.preferences import Preferences
from app.plan.plan import Plan, checked, plan_of_file
from app.plan.plan_files import load_suite, plan_toml, suite_names
from app.plan.settings.sweep import Sweep
from app.plan.studies import shipped_plan, study_names
from exporters.file_access import toml_values
from exporters.types import GraphlapError

FIRST = Plan(
    name="first-look",
    sweeps=(Sweep(models=("cnn_tiny", "lstm_tiny"), runtimes=("ort-cpu",)),),
)
"""Two small models on the runtime that every installation has: a result in seconds."""


def preset_names(preferences: Preferences) -> dict[str, tuple[str, ...]]:
    """Heading -> names of the presets under it."""
    return {
        "Suites": suite_names(),
        "Studies": study_names(),
        "My presets": tuple(sorted(preferences.presets())),
    }


def load_preset(heading: str, name: str, preferences: Preferences) -> Plan:
    """The draft of a preset; PlanError if a kept one is of another version's words."""
    if heading == "Suites":
        return load_suite(name)
    if heading == "Studies":
        return shipped_plan(f"study-{name}")
    origin = f"the preset {name}"
    try:
        data = toml_values(preferences.presets()[name])
    except ValueError as error:
        raise PlanError(f"{origin} can't be read ({error})", "save it again") from None
    return plan_of_file(data, origin)


class PresetButton(QPushButton):
    """`chosen` carries a draft and what to call the step in the undo list."""

    chosen = Signal(object, str)
    failed = Signal(object)

    def __init__(self, preferences: Preferences, draft: Callable[[], Plan]) -> None:
        super().__init__("Start from a suite or study")
        self.setAccessibleName("presets and suites")
        self.setToolTip("Fill the form with a plan that ships or that you kept")
        self._preferences, self._draft = preferences, draft
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        self._fill()

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        menu.addAction("First measurement", lambda: self.chosen.emit(FIRST, "first measurement"))
        for heading, names in preset_names(self._preferences).items():
            if names:
                menu.addSection(heading)
            for name in names:
                menu.addAction(name, partial(self._choose, heading, name))
        menu.addSeparator()
        menu.addAction("Keep as preset…", self._keep)
        presets = self._preferences.presets()
        if presets:
            forget = menu.addMenu("Forget preset")
            for name in presets:
                forget.addAction(name, partial(self._preferences.remove_preset, name))

    def _choose(self, heading: str, name: str) -> None:
        try:
            self.chosen.emit(load_preset(heading, name, self._preferences), f"preset {name}")
        except GraphlapError as error:
            self.failed.emit(error)

    def _keep(self) -> None:
        name, is_accepted = QInputDialog.getText(
            self, "Keep as preset", "Name of the preset:", text=self._draft().name
        )
        if is_accepted and name.strip():
            self.keep(name.strip())

    def keep(self, name: str) -> None:
        """Keep the present draft under a name; `failed` tells why it can't be."""
        try:
            self._preferences.save_preset(name.replace("/", "-"), plan_toml(checked(self._draft())))
        except GraphlapError as error:
            self.failed.emit(error)
