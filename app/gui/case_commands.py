"""Commands of cases: rows looked into, copied, measured again; baselines and their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QUndoCommand, QUndoStack

from app.gui.look.errors import errors_to
from app.gui.look.preferences import Preferences
from app.gui.panels.case_tree import BaselineList
from app.gui.run_feed import RunFeed
from app.gui.shell import Frame
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


Names = Mapping[str, str]


class BaselineCommands(QObject):
    """`named` carries by key the names that were given; whose key is not there has its own."""

    named = Signal(object)
    failed = Signal(object)

    def __init__(
        self, baseline_list: BaselineList, frame: Frame, stack: QUndoStack, preferences: Preferences
    ) -> None:
        super().__init__(frame)
        self._list, self._frame, self._stack = baseline_list, frame, stack
        self._preferences = preferences
        baseline_list.renamed.connect(self.rename)

    @Slot()
    def ask_for_name(self, key: str = "") -> None:
        """Bring the list up and have a name typed: of this baseline, else of the current one."""
        with errors_to(self.failed.emit):
            if not self._list.baselines:
                raise GraphlapError(
                    "there is no baseline to rename",
                    "choose a row with Ctrl+B, or a run with Ctrl+Shift+B first",
                )
            self._frame.show_key("series")
            self._list.rename(key)

    def rename(self, key: str, text: str) -> None:
        """Call a baseline so; with nothing typed it has its own name again."""
        name = " ".join(text.split())
        with errors_to(self.failed.emit):
            names_by_key = {baseline.key: baseline.name for baseline in self._list.baselines}
            if name and name in (
                other_name for other, other_name in names_by_key.items() if other != key
            ):
                raise GraphlapError(f"another baseline is called {name}", "choose another name")
            if name == names_by_key.get(key):
                return
            names_before = self._preferences.baseline_names()
            names_after = {
                other: other_name for other, other_name in names_before.items() if other != key
            }
            names_after |= {key: name} if name else {}
            words = f"rename baseline to {name}" if name else "baseline's own name"
            self._stack.push(_Naming(words, names_before, names_after, self._keep))

    def give_names(self) -> None:
        """Tell those that are kept from an earlier day."""
        self.named.emit(self._preferences.baseline_names())

    def _keep(self, names: Names) -> None:
        self._preferences.save_baseline_names(names)
        self.named.emit(names)


class _Naming(QUndoCommand):
    """One renaming; it keeps all names as they were before and after it."""

    def __init__(
        self, text: str, names_before: Names, names_after: Names, keep: Callable[[Names], None]
    ) -> None:
        super().__init__(text)
        self._names_before, self._after, self._keep = names_before, names_after, keep

    def undo(self) -> None:
        self._keep(self._names_before)

    def redo(self) -> None:
        self._keep(self._after)
