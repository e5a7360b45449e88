"""What fills the composer from outside: the first steps of somebody new, and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.gui.editor.editor import SweepEditor
from app.gui.editor.presets import FIRST
from app.gui.shell.frame import COMPOSER, Frame


class EditorCommands(QObject):
    """A first measurement that begins at once; models that open in the composer."""

    def __init__(self, frame: Frame, editor: SweepEditor) -> None:
        super().__init__(frame)
        self._frame, self._editor = frame, editor

    def try_first(self) -> None:
        """Measure two small models now."""
        self._editor.set_draft(FIRST, "first measurement")
        self._editor.ask_to_run()

    def add_models(self, paths: Sequence[Path]) -> None:
        """Choose these files in the composer; one button there measures them."""
        self._frame.show_key(COMPOSER)
        self._editor.grid_form.models.add_files(map(str, paths))
        self._editor.footer.run_button.setFocus()

    def ask_for_models(self) -> None:
        """Show where a model is chosen to somebody who wants to measure without one."""
        self._frame.show_key(COMPOSER)
        self._editor.grid_form.models.search.setFocus()
