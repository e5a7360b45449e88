"""The File menu: runs, plans and folders that are chosen or dropped, and files of what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Signal, SignalInstance
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from app.gui.editor.editor import SweepEditor
from app.gui.launch import ReportWriter
from app.gui.look.errors import errors_to
from app.gui.look.preferences import Preferences
from app.gui.run_feed import RunFeed
from app.plan.command import command_line
from app.plan.plan_files import plan_toml
from app.run_folder.files import write_atomically
from app.run_folder.manifest import MANIFEST
from exporters.types import FILE_ENDINGS, GraphlapError

TAKEN = "drop run folders, .toml plans or .onnx models"


def paths_of(data: QMimeData) -> list[Path]:
    """Files and folders of this machine; GraphlapError for anything else."""
    if not data.hasUrls():
        raise GraphlapError("what was dropped names no file", TAKEN)
    for url in data.urls():
        if not url.isLocalFile():
            raise GraphlapError(f"{url.toString()} is no file of this machine", TAKEN)
    return [Path(url.toLocalFile()) for url in data.urls()]


def sorted_out(paths: Iterable[Path]) -> tuple[list[Path], list[Path], list[Path]]:
    """Runs, plans and models; GraphlapError names the first that the window can do nothing with."""
    runs: list[Path] = []
    plans: list[Path] = []
    models: list[Path] = []
    for path in paths:
        model_files = sorted(path.glob("*.onnx")) if path.is_dir() else []
        if path.is_dir() and model_files and not (path / MANIFEST).is_file():
            models += model_files
        elif path.is_dir():
            runs.append(path)
        elif path.suffix.lower() == ".toml":
            plans.append(path)
        elif path.suffix.lower() in FILE_ENDINGS:
            models.append(path)
        elif (path.parent / MANIFEST).is_file():
            runs.append(path.parent)  # one of its files stands for the run
        else:
            raise GraphlapError(f"{path.name!r} can't be opened", TAKEN)
    if len(plans) > 1:
        raise GraphlapError(f"{len(plans)} plans can't be opened at once", "drop one of them")
    return list(dict.fromkeys(runs)), plans, models


_PLANS = "Plans (*.toml)"
_FILE_FILTERS = (
    "Models, plans and runs (*.onnx *.toml manifest.json results.csv)",
    "Models (*.onnx)",
    _PLANS,
    "Any file of a run (*)",
)
_PAGES = "Web pages (*.html)"


class FileCommands(QObject):
    """Each command but `open_paths` asks for a path and does nothing if none is given.

    The signals carry what was chosen: a Path, or of models a list of them; `said` what was done.
    """

    run_chosen = Signal(object)
    second_run_chosen = Signal(object)
    baseline_run_chosen = Signal(object)
    runs_folder_chosen = Signal(object)
    models_chosen = Signal(list)
    said = Signal(str)
    failed = Signal(object)

    def __init__(
        self, window: QWidget, editor: SweepEditor, feed: RunFeed, preferences: Preferences
    ) -> None:
        super().__init__(window)
        self._window, self._editor, self._feed = window, editor, feed
        self._preferences = preferences
        self._report = ReportWriter(self)
        self._report.failed.connect(self.failed)
        self._report.done.connect(lambda page: self.said.emit(f"Saved the report as {page}"))

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Runs are opened, the second beside the first; a plan and models go to the editor."""
        with errors_to(self.failed.emit):
            runs, plans, models = sorted_out(paths)
            for plan in plans:
                self._editor.open_plan(plan)
            if models:
                self.models_chosen.emit(models)
            for folder, signal in zip(
                runs, (self.run_chosen, self.second_run_chosen), strict=False
            ):
                signal.emit(folder)
            if len(runs) > 2:
                self.said.emit(
                    f"Opened the first two of {len(runs)} runs: graphlap report shows all of "
                    "them as one"
                )

    def open_file(self) -> None:
        """Ask for models, a plan or a file of a run; what each is decides where it goes."""
        names, _ = QFileDialog.getOpenFileNames(self._window, "Open", "", ";;".join(_FILE_FILTERS))
        if names:
            self.open_paths([Path(name) for name in names])

    def open_run(self) -> None:
        folder = self._ask_for_folder("Open run folder")
        if folder is not None:
            self.run_chosen.emit(folder)

    def compare_run(self) -> None:
        self._ask_for_run("Compare with run", "compare with", self.second_run_chosen)

    def baseline_run(self) -> None:
        self._ask_for_run("Add run as baseline", "give a baseline", self.baseline_run_chosen)

    def _ask_for_run(self, title: str, purpose: str, chosen: SignalInstance) -> None:
        if self._feed.folder is None:
            self.failed.emit(
                GraphlapError(f"there is no run to {purpose}", "open one first, with Ctrl+O")
            )
        elif (folder := self._ask_for_folder(title)) is not None:
            chosen.emit(folder)

    def copy_command(self) -> None:
        """The command line of the editor's sweep; a plan that flags can't say lies in a file."""
        with errors_to(self.failed.emit):
            plans = self._preferences.runs_folder.with_name("plans")
            line = command_line(self._editor.plan(), plans)
            QGuiApplication.clipboard().setText(line)
            self.said.emit(f"Copied: {line}")

    def save_plan(self) -> None:
        name = f"{self._editor.draft.name}.toml"
        path, _ = QFileDialog.getSaveFileName(self._window, "Save plan", name, _PLANS)
        if path:
            with errors_to(self.failed.emit):
                self.write_plan(Path(path))
                self.said.emit(f"Saved the plan as {path}")

    def write_plan(self, path: Path) -> None:
        """Save the editor's plan; GraphlapError if it is incomplete or can't be written."""
        text = plan_toml(self._editor.plan())
        try:
            write_atomically(path, text.encode())
        except OSError as error:
            raise GraphlapError(
                f"{path} can't be written ({error.strerror})", "choose another place"
            ) from None

    def write_report(self) -> None:
        """One HTML page of the open run, and of the one beside it."""
        feed = self._feed
        if feed.folder is None:
            self.failed.emit(GraphlapError("there is no run to report", "open one with Ctrl+O"))
            return
        name = f"{feed.folder.name}.html"
        path, _ = QFileDialog.getSaveFileName(self._window, "Save report", name, _PAGES)
        if path:
            folder = feed.compared.folder
            with errors_to(self.failed.emit):
                self._report.write([feed.folder, *([folder] if folder else [])], Path(path))
                self.said.emit(f"Writing the report {path}")

    def close(self) -> None:
        self._report.close()

    def choose_runs_folder(self) -> None:
        folder = self._ask_for_folder("Runs folder")
        if folder is not None:
            self._preferences.runs_folder = folder
            self.runs_folder_chosen.emit(folder)
            self.said.emit(f"Runs are written to {folder}")

    def _ask_for_folder(self, title: str) -> Path | None:
        """A folder, looked for from where runs are written; None if none is given."""
        start = str(self._preferences.runs_folder)
        folder = QFileDialog.getExistingDirectory(self._window, title, start)
        return Path(folder) if folder else None
