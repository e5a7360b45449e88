"""What can be done with a row of the results table: looked into, copied, measured again alone."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication

from app.gui.look.errors import errors_to
from app.gui.look.preferences import Preferences
from app.gui.run_feed import RunFeed
from app.gui.shell.frame import Frame
from app.gui.tables.results import ResultsTable
from app.plan.command import command_line, single_case_plan
from exporters.types import GraphlapError


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
            self._action("Inspect its graph", "Show the graph of this row's model", self.inspect),
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

    def inspect(self) -> None:
        """Show the row's model as a graph, with who ran each node."""
        key = self._current()
        if key:
            self._table.select([key])
            self._frame.show_key("graph")

    def copy_command(self) -> None:
        """Put the command of the row's case alone on the clipboard."""
        key, state = self._current(), self._feed.state
        case = state.of(key) if state else None
        if state is None or case is None:
            return
        with errors_to(self._tell):
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

    def _tell(self, error: GraphlapError) -> None:
        self.failed.emit(error)

    def _current(self) -> str:
        """The key of the row that the keyboard is on, else of the first selected one."""
        keys = self._table.selected_keys()
        return self._table.current_key() or (keys[0] if keys else "")
