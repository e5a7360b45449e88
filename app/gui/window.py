"""The main window: its parts, how they hear of each other, and what the actions do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, QThreadPool, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
)
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from app.gui.actions import ACTIONS, RecentMenu, add_undo, add_views, build_actions, menu
from app.gui.batch import LogPanel, QueuePanel
from app.gui.editor.editor import SweepEditor
from app.gui.file_commands import TAKEN, FileCommands, paths_of
from app.gui.follow import GarbageCollector
from app.gui.launch import RunControl, SweepQueue, log_of
from app.gui.look.errors import ErrorDialog, catch_in_overrides, errors_to, show_error
from app.gui.look.preferences import Preferences
from app.gui.look.style_sheet import apply_theme, prepare_application
from app.gui.look.text import in_fields
from app.gui.look.theme import glyph
from app.gui.palette import (
    Finder,
    HelpCommands,
    of_actions,
    of_cases,
    of_models,
    of_runs,
    of_terms,
    of_views,
)
from app.gui.panels.case_tree import CaseTree
from app.gui.panels.progress import ProgressLine
from app.gui.panels.warnings import WarningsBadge
from app.gui.run_commands import EditorCommands, RowCommands, RunCommands
from app.gui.run_feed import RunFeed
from app.gui.shell import Frame, Header
from app.gui.start import StartPage
from app.gui.tables.results import ResultsTable
from app.gui.view_commands import Exportable, ViewCommands
from app.gui.views import ViewArea, Views
from app.present.console.answer.summary import assumption_line, effect_lines, input_lines
from app.runs.following.state import RunState
from exporters.types import GraphlapError

LEAST = QSize(900, 560)


class WindowParts(QMainWindow):
    """Editor, views, table, panels and commands by name; `MainWindow` puts them together."""

    def __init__(self, preferences: Preferences) -> None:
        prepare_application()  # a window keeps the typeface that it was made with
        catch_in_overrides(QObject)
        super().__init__()
        self._garbage = GarbageCollector(self)
        self.preferences = preferences
        self.setWindowTitle("Graphlap")
        self.setMinimumSize(LEAST)
        self.setAcceptDrops(True)
        self.control = RunControl(SweepQueue(self), self.preferences.runs_folder, self)
        self.editor = SweepEditor()
        self.views = Views()
        self.table = ResultsTable()
        self.progress, self.log = ProgressLine(), LogPanel()
        self.setStatusBar(self.progress)
        self.queue_panel = QueuePanel(self.control)
        self.start_page = StartPage(lambda: self.control.runs_folder)
        self.series_list = CaseTree()
        self.series_list.add_filter(self.table.filter_box)
        self.feed = RunFeed(self.views, self.table, self)
        self.badge = WarningsBadge()
        self.header = Header()
        self.view_area = ViewArea(self.views)
        self.frame = Frame(self.header, self.preferences)
        self._fill_frame()
        self.runs = RunCommands(self.editor, self.control, self.feed, self)
        self.files = FileCommands(self, self.editor, self.feed, self.preferences)
        self.rows = RowCommands(self.table, self.feed, self.frame, self.preferences)
        self.views_and_table: dict[str, Exportable] = {**self.views.by_key, "results": self.table}
        self.looks = ViewCommands(self, self.frame, self.views_and_table)
        self.help = HelpCommands(self)
        self.finder = Finder(self)
        self.edits = EditorCommands(self.frame, self.editor)

    def _fill_frame(self) -> None:
        lower: dict[str, tuple[str, QWidget]] = {
            "results": ("Details", self.table),
            "queue": ("Queue", self.queue_panel),
            "log": ("Log", self.log),
        }
        self.frame.fill_in(self.start_page, self.editor, self.series_list, self.view_area, lower)
        self.setCentralWidget(self.frame)


_USUAL = QSize(1280, 800)
_FRAME = QSize(16, 48)
"""What a desktop's frame and title bar may take beside and above the window."""


def place_window(window: QWidget, byte_array: QByteArray, least: QSize) -> None:
    """The usual size where nothing was kept, or all of a screen that is too small for it.

    A screen that is too small for the `least` size shows a part of it, whatever is done.
    """
    if not byte_array.isEmpty() and window.restoreGeometry(byte_array):
        return
    room, needed_size = window.screen().availableGeometry().size(), _USUAL + _FRAME
    too_small = needed_size.boundedTo(room) != needed_size
    if too_small and least.boundedTo(room) == least:
        window.resize(_USUAL.boundedTo(room - _FRAME))
        window.setWindowState(window.windowState() | Qt.WindowState.WindowMaximized)
    else:
        window.resize(_USUAL)


class MainWindow(WindowParts):
    """`open_run`, `editor.set_draft` and the actions' methods are its whole interface."""

    def __init__(self, preferences: Preferences | None = None) -> None:
        super().__init__(preferences or Preferences())
        self.actions_by_key = build_actions(self, self.header.menu_bar)
        self._complete_menus()
        self.header.add_badge(self.badge)
        self._connect()
        self.set_theme(self.preferences.theme)
        place_window(self, self.preferences.layout("geometry"), LEAST)
        if self.preferences.columns:
            self.table.set_visible_columns(self.preferences.columns)
        self._show_control_state(self.control.state)

    _inputs_shown: tuple[Path, int] | None = None

    def _complete_menus(self) -> None:
        bar = self.header.menu_bar
        self.actions_by_key |= add_undo(self, bar, self.editor.undo_stack)
        self.recent_menu = RecentMenu(self, self.preferences, self.open_run)
        menu(bar, "&File").insertMenu(self.actions_by_key["compare"], self.recent_menu)
        add_views(bar, self.frame, self.actions_by_key)
        self.header.add_buttons(self.actions_by_key, self.recent_menu)
        self.help.actions = self.actions_by_key
        self.finder.sources = (
            partial(of_actions, self.actions_by_key),
            partial(of_views, self.views.by_key, self.frame),
            lambda: of_runs(self.preferences.recent_runs(), self.open_run),
            partial(of_cases, self.feed, self.table),
            partial(
                of_models, self.editor.grid_form.models, partial(self.frame.show_key, "editor")
            ),
            partial(of_terms, self.help.show_terms),
        )
        self.table.row_actions += [*self.rows.actions, self.actions_by_key["export"]]
        self.series_list.baselines.rows.addAction(self.actions_by_key["drop_baselines"])

    def _connect(self) -> None:
        self.editor.copy_asked.connect(self.files.copy_command)
        for commands in (self.runs, self.files, self.rows, self.looks):
            commands.failed.connect(self.show_error)
            commands.said.connect(self.progress.say)
        for part in (self.editor, self.feed):
            part.failed.connect(self.show_error)
        self.runs.started.connect(lambda folder: self.log.follow(log_of(folder)))
        self.runs.there.connect(self._open_if_another)
        self.runs.asked_run_begins.connect(self.frame.show_run)
        self.files.run_chosen.connect(self.open_run)
        self.files.second_run_chosen.connect(self.compare_with)
        self.files.models_chosen.connect(self.edits.add_models)
        self.files.runs_folder_chosen.connect(self._write_runs_to)
        self.control.state_changed.connect(self._show_control_state)
        self.feed.opened.connect(self._run_opened)
        self.feed.changed.connect(self._show_run)
        self.feed.beat.connect(self.log.read_on)
        self.feed.beat.connect(self.progress.tick)
        self.feed.shown.connect(self.series_list.set_series)
        self.feed.listed.connect(self.series_list.set_cases)
        self.series_list.selected.connect(self._select_cases)
        self.table.selected.connect(self.series_list.select)
        self.table.filtered.connect(self.feed.set_filter)
        self.table.filtered.connect(self.series_list.set_filter)
        self.series_list.arranged.connect(self.views.arrange)
        self.series_list.colored.connect(self.table.model.set_swatches)
        self.table.selected.connect(self.feed.select)
        for view in self.views.by_key.values():
            view.picked.connect(self._pick)
            view.opened.connect(self._open_samples)
        self.views.compare.asked.connect(self.files.compare_run)
        self.table.baselines_chosen.connect(self.feed.baselines.set_own)
        self.files.baseline_run_chosen.connect(self.feed.baselines.add_run)
        self.feed.held_against.connect(self.series_list.set_baselines)
        self.feed.held_against.connect(self.table.set_baselines)
        self.frame.placed.connect(self._on_placement)
        self.frame.editing.connect(self._composer_shown)
        self.badge.query_asked.connect(self.rows.find)
        self.badge.cases_asked.connect(self.rows.show_in)
        self.editor.close_asked.connect(self.frame.leave)
        self.editor.models_asked.connect(self.edits.ask_for_models)
        self.start_page.try_asked.connect(self.edits.try_first)
        self.start_page.new_asked.connect(self.frame.toggle_composer)
        self.start_page.file_asked.connect(self.files.open_file)
        self.start_page.open_asked.connect(self.open_run)
        self.start_page.show_recent(self.preferences.recent_runs())

    def set_theme(self, name: str) -> None:
        """Dress everything in a theme and remember it."""
        theme = apply_theme(name)
        for part in (self.series_list, *self.views_and_table.values()):
            part.apply_theme(theme)
        for spec in (spec for specs in ACTIONS.values() for spec in specs if spec.icon):
            self.actions_by_key[spec.key].setIcon(glyph(spec.icon, theme.text, theme.muted))
        self.badge.setIcon(glyph("warning", theme.warning, theme.muted))
        self.actions_by_key["dark"].setChecked(theme.dark)
        self.preferences.theme = theme.name

    def open_run(self, folder: Path) -> None:
        """Follow a run folder, finished or still being written."""
        self.feed.open(folder)

    def compare_with(self, folder: Path) -> None:
        """Lay this run beside the open one, and show that view."""
        self.feed.compare(folder)
        self.frame.show_key("compare")

    def show_error(self, error: Exception) -> ErrorDialog:
        if isinstance(error, GraphlapError):
            error = GraphlapError(in_fields(error.cause), in_fields(error.remedy))
        return show_error(error, self)

    def _pick(self, keys: tuple[str, ...], add: bool) -> None:
        """Select the rows of what was clicked in a plot; what plots show stays if it is there."""
        selected_keys = [*self.table.selected_keys(), *keys] if add else list(keys)
        if not self.table.has_rows(keys):
            self.table.filter_by("")
        quiet = self.feed.look_at(keys[0], selected_keys)
        self.table.select(selected_keys, quiet=quiet)

    def _select_cases(self, keys: list[str]) -> None:
        """Show the cases that were selected in the tree, here and in the table."""
        self.table.select(keys, quiet=True)
        self.feed.select(keys)

    def _open_samples(self, key: str) -> None:
        """Show the iterations of a case over time, and with it what else is shown."""
        if not self.feed.look_at(key, [key]):
            self.table.select([key])
        self.frame.show_key("timeline")

    @Slot()
    def toggle_theme(self) -> None:
        self.set_theme("light" if self.preferences.theme == "dark" else "dark")

    @Slot()
    def drop_baselines(self) -> None:
        """Hold the cases against nothing."""
        self.table.drop_baselines()
        self.feed.baselines.close()

    def _write_runs_to(self, folder: Path) -> None:
        self.control.runs_folder = folder

    def _open_if_another(self, folder: Path) -> None:
        if folder not in (self.feed.folder, self.feed.opening):
            self.open_run(folder)

    def _run_opened(self, state: RunState) -> None:
        self.preferences.add_recent(state.folder)
        self.log.follow(log_of(state.folder))
        self.table.show_plan(state.manifest.requested_plan)
        self.start_page.show_recent(self.preferences.recent_runs())
        self.setWindowTitle(f"{state.folder.name} - Graphlap")
        self.header.show_run(state.folder.name)
        self.frame.show_run()
        if state.alive and self.control.folder != state.folder:
            pid = state.live.pid if state.live else "?"
            self.progress.say(
                f"This run is written by another process (pid {pid}); this window only watches."
            )

    def _show_inputs(self, state: RunState) -> None:
        """As the terminal says it."""
        if self._inputs_shown != (state.folder, state.revision):
            self._inputs_shown = state.folder, state.revision
            measured = [item.measured for item in state.series]
            effects = effect_lines(measured, state.sensitivities)
            lines = filter(None, (assumption_line(measured), *effects, *input_lines(state.models)))
            self.header.show_inputs([in_fields(line) for line in lines])

    def _show_run(self, state: RunState) -> None:
        self.badge.show_run(state)
        self._show_inputs(state)
        is_own = self.control.folder == state.folder
        child = self.control.child
        writer = state.live.pid if state.live else None
        if is_own and child is not None and writer != child.pid:
            self.progress.show_start()  # what the folder says is of the process before
        else:
            self.progress.show_run(state, self.control.state if is_own else "")
        lacks = state.live is None or state.live.state != "finished"
        idle = self.control.state == "idle" and not state.alive
        idle = idle and not state.problem and not state.damaged
        self.actions_by_key["resume_run"].setEnabled(lacks and idle)

    def _on_placement(self) -> None:
        self.actions_by_key["fill"].setChecked(self.frame.filled)
        self.series_list.set_listed(not self.series_list.isHidden())

    def _composer_shown(self, shown: bool) -> None:
        focus = QApplication.focusWidget()
        if shown and not (focus is not None and self.editor.isAncestorOf(focus)):
            self.editor.grid_form.models.search.setFocus()

    def _show_control_state(self, state: str) -> None:
        self.feed.stay_awake(state != "idle")
        if state == "running" and self.control.folder != self.feed.folder:
            self.progress.show_start()
        moving = state in ("running", "paused")
        self.actions_by_key["run"].setEnabled(not moving)
        self.actions_by_key["pause"].setEnabled(moving)
        text = "&Resume" if state == "paused" else "&Pause"
        self.actions_by_key["pause"].setText(text)
        self.actions_by_key["pause"].setIconText(text.replace("&", ""))
        self.actions_by_key["stop"].setEnabled(moving)
        self.actions_by_key["resume_run"].setEnabled(False)
        if self.feed.state is not None:
            self._show_run(self.feed.state)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Escape, where nothing inside had a use for it."""
        if event.key() != Qt.Key.Key_Escape or not self.frame.leave():
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
        else:
            self.progress.say(f"This can't be opened: {TAKEN}")

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        event.acceptProposedAction()
        with errors_to(self.show_error):
            self.files.open_paths(paths_of(event.mimeData()))

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Remember everything and end what is ours; a batch process goes on by itself."""
        if not self.runs.queue_may_go():
            event.ignore()
            return
        self.frame.save()
        self.preferences.save_layout("geometry", self.saveGeometry())
        self.preferences.columns = self.table.visible_columns()
        self.preferences.sync()
        self.progress.clearMessage()
        self.editor.close_background()
        self.files.close()
        self.feed.close()
        self.control.close()
        QThreadPool.globalInstance().waitForDone()
        self._garbage.close()
        event.accept()
