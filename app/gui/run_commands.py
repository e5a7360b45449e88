"""Commands of the composer, of the Run menu, of rows and of baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from app.formatting.text import duration
from app.gui.editor.draft import FIRST
from app.gui.editor.editor import SweepEditor
from app.gui.launch import MISUSE, RunControl
from app.gui.look.errors import errors_to
from app.gui.look.preferences import Preferences
from app.gui.run_feed import RunFeed
from app.gui.shell import COMPOSER, Frame
from app.gui.tables.results import ResultsTable
from app.plan.command import command_line, single_case_plan
from app.plan.estimate import ASK_ABOVE, Estimate
from app.plan.plan import Plan
from app.run_folder.manifest import MANIFEST
from app.runs.following.state import RunState, ending
from exporters.types import GraphlapError

_ENDS = {0: "finished", 1: "ended with failures: open it to see which", 130: "stopped"}
"""Of a run that nobody looks at; of the open one its rows say more."""


class RunCommands(QObject):
    """`started` names a run folder that will be there soon, `there` the one that now is.

    `asked_run_begins` is of a sweep that somebody has just asked for, not of one from the queue.
    """

    started = Signal(object)
    there = Signal(object)
    asked_run_begins = Signal()
    said = Signal(str)
    failed = Signal(object)

    def __init__(
        self, editor: SweepEditor, control: RunControl, feed: RunFeed, window: QWidget
    ) -> None:
        super().__init__(window)
        self._window, self._editor = window, editor
        self._control, self._feed = control, feed
        self._asked_for = False
        self._waiting_for: Path | None = None
        self._ended_folder: Path | None = None
        self._error: Exception | None = None
        editor.run_asked.connect(self.run_plan)
        editor.queue_asked.connect(self.queue_plan)
        control.started.connect(self._run_started)
        control.ended.connect(self._run_ended)
        control.refused.connect(self._on_refusal)
        control.state_changed.connect(self._state_changed)
        feed.changed.connect(self._tell_end)
        feed.beat.connect(self._look_for_folder)

    def run_plan(self, plan: Plan, estimate: Estimate) -> None:
        """Measure a checked plan now or after the present one; a huge one is asked about."""
        if self._agreed(estimate):
            with errors_to(self.failed.emit):
                idle = self._control.state == "idle"
                self._control.run(plan)
                self._asked_for = idle

    def queue_plan(self, plan: Plan, estimate: Estimate) -> None:
        if self._agreed(estimate):
            self._control.queue.add(plan)
            self._control.run_next()
            self.said.emit(f"{plan.name} waits in the queue")

    @Slot()
    def pause_or_resume(self) -> None:
        if self._control.state == "paused":
            self._control.resume()
        else:
            self._control.pause()

    @Slot()
    def resume_open_run(self) -> None:
        if self._feed.folder is not None:
            with errors_to(self.failed.emit):
                self._control.resume_folder(self._feed.folder)

    def queue_may_go(self) -> bool:
        """A sweep that is measured outlives the window, those that wait do not."""
        waiting = len(self._control.queue.plans)
        if not waiting:
            return True
        noun = "sweep that waits" if waiting == 1 else f"{waiting} sweeps that wait"
        text = f"The {noun} in the queue would be forgotten. Close all the same?"
        return self._agreed_to("Sweeps are waiting", text)

    def _agreed(self, estimate: Estimate) -> bool:
        if estimate.cases <= ASK_ABOVE:
            return True
        text = (
            f"This sweep has {estimate.cases:,} cases and would take at least "
            f"{duration(estimate.shortest_s)}. Measure all of it?"
        )
        return self._agreed_to("A very large sweep", text)

    def _agreed_to(self, title: str, text: str) -> bool:
        answer = QMessageBox.question(self._window, title, text)
        return answer == QMessageBox.StandardButton.Yes

    def _run_started(self, folder: Path) -> None:
        self._waiting_for = folder
        self.started.emit(folder)

    def _look_for_folder(self) -> None:
        """The batch process checks the plan before it makes its folder."""
        folder = self._waiting_for
        if folder is not None and (folder / MANIFEST).is_file():
            self._waiting_for = None
            self.there.emit(folder)
            if self._asked_for:
                self._asked_for = False
                self.asked_run_begins.emit()

    def _run_ended(self, folder: Path, code: int) -> None:
        self._waiting_for = None if code == MISUSE else self._waiting_for
        self._asked_for = False
        error, self._error = self._error, None
        self._ended_folder = folder if error is None else None
        outcome = str(error) if error else _ENDS.get(code, f"ended with exit code {code}")
        self.said.emit(f"{folder.name}: {outcome}")
        if self._feed.state is not None:
            self._tell_end(self._feed.state)

    def _tell_end(self, state: RunState) -> None:
        """Say how the open run ended, as its rows have it, once its process is gone."""
        if state.folder == self._ended_folder and not state.alive and state.live is not None:
            self._ended_folder = None
            self.said.emit(f"{state.folder.name}: {ending(state, state.live).text}")

    def _on_refusal(self, error: Exception) -> None:
        self._error = error
        self.failed.emit(error)

    def _state_changed(self, state: str) -> None:
        if state == "paused":
            self.said.emit("Pausing after this round")
        elif state == "running" and self._control.folder is not None:
            self.said.emit(f"Measuring into {self._control.folder}")


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


class RowCommands(QObject):
    """The table's context menu gets an action for each; all are of its current row."""

    said = Signal(str)
    failed = Signal(object)

    def __init__(
        self, table: ResultsTable, feed: RunFeed, frame: Frame, preferences: Preferences
    ) -> None:
        super().__init__(frame)
        self._table, self._feed, self._frame = table, feed, frame
        self._preferences = preferences
        self.actions = (
            self._action(
                "Open its graph",
                "Open this row's model in the desktop's program for .onnx files, such as Netron",
                self.open_graph,
            ),
            self._action(
                "Copy the command for this case alone",
                "The command line that measures this row again, without the others",
                self.copy_command,
            ),
        )

    def _action(self, text: str, tip: str, slot: object) -> QAction:
        action = QAction(text, self)
        action.setToolTip(tip)
        action.setStatusTip(tip)
        action.triggered.connect(slot)
        return action

    def open_graph(self) -> None:
        """Open the row's model in the program that the desktop has for such files."""
        state = self._feed.state
        details = state.details.get(self._current()) if state else None
        if details is None:
            return
        path = Path(details.model.path)
        with errors_to(self.failed.emit):
            if not path.is_file():
                raise GraphlapError(f"{path} is not there", "measure the case again")
            if not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
                raise GraphlapError(f"no program opens {path}", "install one, such as Netron")

    def copy_command(self) -> None:
        """Put the command of the row's case alone on the clipboard."""
        key, state = self._current(), self._feed.state
        case = state.of(key) if state else None
        if state is None or case is None:
            return
        with errors_to(self.failed.emit):
            plan = single_case_plan(state.manifest.requested_plan, case.case)
            line = command_line(plan, self._preferences.runs_folder.with_name("plans"))
            QGuiApplication.clipboard().setText(line)
            self.said.emit(f"Copied: {line}")

    @Slot()
    def follow_measurement(self) -> None:
        """Show what is measured now, and no row in particular."""
        self._table.view.clearSelection()
        self._feed.select(())

    def find(self, query: str) -> None:
        """Show the table's rows that this finds."""
        self._table.filter_by(query)
        self._frame.show_key("results")

    def show_in(self, view: str, case_ids: tuple[str, ...]) -> None:
        """Show these cases in this view."""
        self._table.filter_by("")
        self._table.select(case_ids)
        self._frame.show_key(view)

    def _current(self) -> str:
        """The key of the row that the keyboard is on, else of the first selected one."""
        keys = self._table.selected_keys()
        return self._table.current_key() or (keys[0] if keys else "")
