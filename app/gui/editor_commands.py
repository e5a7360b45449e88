"""What fills the editor from outside: the first steps of somebody new, and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.gui.docks import Docks
from app.gui.editor.editor import SweepEditor
from app.gui.editor.presets import FIRST, load_preset
from app.gui.look.errors import errors_to
from app.gui.look.preferences import Preferences
from app.plan.plan import Plan


class EditorCommands(QObject):
    """Each shows the editor, wherever it was."""

    said = Signal(str)
    failed = Signal(object)

    def __init__(self, docks: Docks, editor: SweepEditor, preferences: Preferences) -> None:
        super().__init__(docks)
        self._docks, self._editor, self._preferences = docks, editor, preferences

    def try_first(self) -> None:
        """A sweep that is over in seconds."""
        self._begin_with(FIRST, "first measurement")

    def compose_starter(self) -> None:
        with errors_to(self.failed.emit):
            starter = load_preset("Suites", "starter", self._preferences)
            self._begin_with(starter, "preset starter")

    def add_models(self, paths: Sequence[Path]) -> None:
        self._docks.show("editor")
        self._editor.grid_form.models.add_files(map(str, paths))

    def _begin_with(self, draft: Plan, text: str) -> None:
        self._editor.set_draft(draft, text)
        self._docks.show("editor")
        self._editor.footer.run_button.setFocus()
        self.said.emit("“Run sweep” (F5) measures what the editor shows")
