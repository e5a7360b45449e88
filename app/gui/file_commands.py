"""The File menu: asking for runs, plans and folders, and writing what the window shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from app.gui.export_view import ask_and_export
from app.plan.toml_text import plan_toml
from exporters.types import GraphlapError

if TYPE_CHECKING:
    from app.gui.window import MainWindow

_PLANS = "Plans (*.toml)"


class FileCommands(QObject):
    """Each command but `open_paths` asks for a path and does nothing if none is given."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window

    def open_paths(self, paths: Sequence[Path]) -> None:
        """A run folder or a plan is opened; anything else is taken for models."""
        window = self._window
        if len(paths) == 1 and paths[0].is_dir():
            window.open_run(paths[0])
        elif len(paths) == 1 and paths[0].suffix == ".toml":
            self._guarded(lambda: window.editor.open_plan(paths[0]))
        else:
            window.docks.show("editor")
            window.editor.grid_form.models.add_files(map(str, paths))

    def open_run(self) -> None:
        start = str(self._window.preferences.runs_folder)
        folder = QFileDialog.getExistingDirectory(self._window, "Open run folder", start)
        if folder:
            self._window.open_run(Path(folder))

    def compare_run(self) -> None:
        window = self._window
        if window.feed.folder is None:
            window.show_error(
                GraphlapError("there is no run to compare with", "open one first, with Ctrl+O")
            )
            return
        start = str(window.preferences.runs_folder)
        folder = QFileDialog.getExistingDirectory(window, "Compare with run", start)
        if folder:
            window.compare_with(Path(folder))

    def open_plan(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._window, "Open plan", "", _PLANS)
        if path:
            self._guarded(lambda: self._window.editor.open_plan(Path(path)))

    def save_plan(self) -> None:
        name = f"{self._window.editor.draft.name}.toml"
        path, _ = QFileDialog.getSaveFileName(self._window, "Save plan", name, _PLANS)
        if path:
            self._guarded(lambda: self.write_plan(Path(path)))

    def write_plan(self, path: Path) -> None:
        """Save the editor's plan; GraphlapError if it is incomplete or can't be written."""
        text = plan_toml(self._window.editor.plan())
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            raise GraphlapError(
                f"{path} can't be written ({error.strerror})", "choose another place"
            ) from None

    def export_view(self) -> None:
        views = {**self._window.views, "results": self._window.table}
        self._guarded(lambda: ask_and_export(self._window, views))

    def choose_runs_folder(self) -> None:
        window = self._window
        start = str(window.preferences.runs_folder)
        folder = QFileDialog.getExistingDirectory(window, "Runs folder", start)
        if folder:
            window.preferences.runs_folder = window.control.runs_folder = Path(folder)

    def _guarded(self, do: Callable[[], None]) -> None:
        try:
            do()
        except GraphlapError as error:
            self._window.show_error(error)
