"""The menu of plans to begin with, and of keeping the present one among them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QPushButton

from app.gui.editor.presets import FIRST, load_preset, preset_names
from app.gui.look.preferences import Preferences
from app.plan.plan import Plan, checked
from app.plan.plan_files import plan_toml
from exporters.types import GraphlapError


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
        kept = self._preferences.presets()
        if kept:
            forget = menu.addMenu("Forget preset")
            for name in kept:
                forget.addAction(name, partial(self._preferences.remove_preset, name))

    def _choose(self, heading: str, name: str) -> None:
        try:
            self.chosen.emit(load_preset(heading, name, self._preferences), f"preset {name}")
        except GraphlapError as error:
            self.failed.emit(error)

    def _keep(self) -> None:
        name, agreed = QInputDialog.getText(
            self, "Keep as preset", "Name of the preset:", text=self._draft().name
        )
        if agreed and name.strip():
            self.keep(name.strip())

    def keep(self, name: str) -> None:
        """Keep the present draft under a name; `failed` tells why it can't be."""
        try:
            self._preferences.save_preset(name.replace("/", "-"), plan_toml(checked(self._draft())))
        except GraphlapError as error:
            self.failed.emit(error)
