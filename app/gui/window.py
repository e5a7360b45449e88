"""The main window: puts editor, views and panels together and does what the actions say.

It measures nothing and imports no engine: a batch process does, and its folder is followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QThreadPool, Slot
from PySide6.QtGui import QActionGroup, QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QMainWindow, QMessageBox

from app.gui.actions import build_actions, build_tool_bar, menu
from app.gui.docks import Docks
from app.gui.editor.editor import SweepEditor
from app.gui.editor.presets import FIRST, load_preset
from app.gui.export_view import Exportable
from app.gui.file_commands import FileCommands
from app.gui.launch.control import RunControl, log_of
from app.gui.launch.queue import SweepQueue
from app.gui.look.chrome import window_style
from app.gui.look.cursor import RestingCursor
from app.gui.look.errors import ErrorDialog, errors_to, show_error
from app.gui.look.glyphs import glyph
from app.gui.look.preferences import Preferences
from app.gui.look.shortcuts import Sheet, shortcut_rows, term_rows
from app.gui.look.theme import apply_theme
from app.gui.panels.first_run import FirstRunPanel
from app.gui.panels.log import LogPanel
from app.gui.panels.progress import ProgressPanel
from app.gui.panels.queue import QueuePanel
from app.gui.panels.series_list import SeriesList
from app.gui.panels.trust import TrustStrip
from app.gui.plots.compare import CompareView
from app.gui.run_commands import RunCommands
from app.gui.run_feed import RunFeed
from app.gui.tables.results import ResultsTable
from app.gui.views import PAGES, VIEWS, Views
from app.plan.command import command_line
from app.plan.plan import Plan
from app.results.follow.state import RunState
from app.results.manifest import graphlap_version


class MainWindow(QMainWindow):
    """`open_run`, `editor.set_draft` and the actions' methods are its whole interface."""

    def __init__(self, preferences: Preferences | None = None) -> None:
        super().__init__()
        self.preferences = preferences or Preferences()
        self.setWindowTitle("Graphlap")
        self.setMinimumSize(900, 560)
        self.setAcceptDrops(True)
        self.control = RunControl(SweepQueue(self), self.preferences.runs_folder, self)
        self.editor = SweepEditor(self.preferences)
        self.views = Views()
        self.table = ResultsTable()
        self.progress, self.log = ProgressPanel(), LogPanel()
        self.queue_panel = QueuePanel(self.control)
        self.welcome = FirstRunPanel()
        self.series_list = SeriesList()
        self.feed = RunFeed(self.views, self.table, self)
        self.docks = Docks(self, self.preferences)
        self._cursor = RestingCursor(self)
        self._make_docks()
        self.runs = RunCommands(self, self.editor, self.control, self.feed)
        self.views_and_table: list[Exportable] = [*self.views.by_key.values(), self.table]
        self.files = FileCommands(
            self, self.editor, self.feed, self.preferences, self.views_and_table
        )
        self.actions_by_key = build_actions(self)
        self._complete_menus()
        self.tool_bar = build_tool_bar(self, self.actions_by_key)
        self.trust = TrustStrip()
        self.addToolBarBreak()
        self.addToolBar(self.trust)
        self.statusBar().showMessage("Ready")
        self._connect()
        self.set_theme(self.preferences.theme)
        self._restore_geometry()
        if self.preferences.columns:
            self.table.set_visible_columns(self.preferences.columns)
        self.docks.start()
        self._show_control_state(self.control.state)

    def _make_docks(self) -> None:
        self.docks.add("editor", "Sweep", self.editor)
        self.docks.add("progress", "Progress", self.progress)
        self.docks.add("welcome", "Welcome", self.welcome)
        for spec in VIEWS:
            self.docks.add(spec.key, spec.title, self.views.by_key[spec.key])
        series = self.docks.add("series", "Series", self.series_list)
        series.visibilityChanged.connect(self.series_list.set_listed)
        self.docks.add("results", "Results table", self.table)
        self.docks.add("queue", "Queue", self.queue_panel)
        self.docks.add("log", "Log", self.log)

    def _complete_menus(self) -> None:
        """What the table of actions can't hold: undo, recent runs and the docks."""
        edit = menu(self, "&Edit")
        undo = self.editor.undo_stack.createUndoAction(self, "&Undo")
        redo = self.editor.undo_stack.createRedoAction(self, "&Redo")
        undo.setShortcut("Ctrl+Z")
        redo.setShortcut("Ctrl+Shift+Z")
        edit.insertActions(edit.actions()[0], [undo, redo])
        self.actions_by_key |= {"undo": undo, "redo": redo}
        file = menu(self, "&File")
        self.recent_menu = file.addMenu("&Recent runs")
        file.insertMenu(self.actions_by_key["open_plan"], self.recent_menu)
        self.recent_menu.aboutToShow.connect(self._fill_recent)
        panels = menu(self, "&View").addMenu("&Panels")
        panels.addActions(self.docks.view_actions())
        pages = QActionGroup(self)
        for page in PAGES:
            pages.addAction(self.actions_by_key[page])

    def _connect(self) -> None:
        self.editor.copy_asked.connect(self.copy_command)
        for part in (self.editor, self.runs, self.files, self.feed):
            part.failed.connect(self.show_error)
        self.runs.started.connect(lambda folder: self.log.follow(log_of(folder)))
        self.runs.there.connect(self._open_if_another)
        self.files.run_chosen.connect(self.open_run)
        self.files.second_run_chosen.connect(self.compare_with)
        self.files.models_chosen.connect(self._add_models)
        self.files.runs_folder_chosen.connect(self._write_runs_to)
        self.control.state_changed.connect(self._show_control_state)
        self.feed.opened.connect(self._run_opened)
        self.feed.changed.connect(self._show_run)
        self.feed.beat.connect(self.log.read_on)
        self.feed.shown.connect(self.series_list.set_series)
        self.series_list.arranged.connect(self.views.arrange)
        self.series_list.colored.connect(self.table.model.set_swatches)
        self.table.selected.connect(self.feed.select)
        for view in self.views.by_key.values():
            view.chosen.connect(lambda key: self.table.select([key]))
        compare = self.views.by_key["compare"]
        if isinstance(compare, CompareView):
            compare.asked.connect(self.files.compare_run)
        self.table.baselines_chosen.connect(self.feed.hold_against)
        self.files.baseline_run_chosen.connect(self.feed.hold_against_run)
        self.feed.held_against.connect(self.series_list.set_baselines)
        self.feed.held_against.connect(self.table.set_baselines)
        self.docks.page_changed.connect(self._page_changed)
        self.trust.asked.connect(self._find_doubted)
        self.table.filter_box.textChanged.connect(self.trust.show_query)
        self.welcome.try_asked.connect(lambda: self._begin_with(FIRST, "first measurement"))
        self.welcome.suite_asked.connect(self._begin_with_starter)
        self.welcome.open_asked.connect(lambda f: self.open_run(f) if f else self.files.open_run())
        self.welcome.show_recent(self.preferences.recent_runs())

    def set_theme(self, name: str) -> None:
        """Dress everything in a theme and remember it."""
        theme = apply_theme(name)
        self.setStyleSheet(window_style(theme))
        for part in (self.series_list, *self.views_and_table):
            part.apply_theme(theme)
        for key in ("run", "pause", "stop", "open_run", *PAGES):
            name_of_glyph = "open" if key == "open_run" else key
            self.actions_by_key[key].setIcon(glyph(name_of_glyph, theme.text, theme.muted))
        self.actions_by_key["dark"].setChecked(theme.dark)
        self.preferences.theme = theme.name

    def open_run(self, folder: Path) -> None:
        """Follow a run folder, finished or still being written."""
        self.feed.open(folder)

    def compare_with(self, folder: Path) -> None:
        """Lay this run beside the open one, and show that view."""
        self.feed.compare(folder)
        self.docks.show("compare")

    def show_error(self, error: Exception) -> ErrorDialog:
        return show_error(error, self)

    @Slot()
    def follow_measurement(self) -> None:
        self.table.view.clearSelection()
        self.feed.select(())

    @Slot()
    def copy_command(self) -> None:
        with errors_to(self.show_error):
            line = command_line(self.editor.plan(), self.preferences.runs_folder.with_name("plans"))
            QGuiApplication.clipboard().setText(line)
            self.statusBar().showMessage(f"Copied: {line}", 8000)

    @Slot()
    def page_measure(self) -> None:
        self.docks.go_to("measure")

    @Slot()
    def page_results(self) -> None:
        self.docks.go_to("results")

    @Slot()
    def page_inspect(self) -> None:
        self.docks.go_to("inspect")

    @Slot()
    def toggle_theme(self) -> None:
        self.set_theme("light" if self.preferences.theme == "dark" else "dark")

    @Slot()
    def drop_baselines(self) -> None:
        """Hold the cases against nothing."""
        self.table.drop_baselines()
        self.feed.baselines.close()

    @Slot()
    def toggle_series(self) -> None:
        """Bring the series list up, or fold it away."""
        dock = self.docks.docks["series"]
        dock.setVisible(dock.isHidden())

    @Slot()
    def reset_layout(self) -> None:
        self.docks.reset()

    @Slot()
    def keep_layout(self) -> None:
        self.docks.keep_custom()
        self.statusBar().showMessage("Kept as this page's custom layout", 5000)

    @Slot()
    def custom_layout(self) -> None:
        if not self.docks.restore_custom():
            self.statusBar().showMessage("No custom layout was kept for this page", 5000)

    @Slot()
    def show_shortcuts(self) -> None:
        rows = shortcut_rows(list(self.actions_by_key.values()))
        Sheet("Keyboard shortcuts", rows, self).open()

    @Slot()
    def show_terms(self) -> None:
        Sheet("Terms", term_rows(), self).open()

    @Slot()
    def show_about(self) -> None:
        QMessageBox.about(
            self,
            "About Graphlap",
            f"<b>Graphlap {graphlap_version()}</b><p>Lap times for ONNX graphs.</p>",
        )

    def _begin_with(self, draft: Plan, text: str) -> None:
        self.editor.set_draft(draft, text)
        self.docks.show("editor")
        self.editor.run_button.setFocus()
        self.statusBar().showMessage("“Run sweep” (F5) measures what the editor shows", 10_000)

    def _begin_with_starter(self) -> None:
        with errors_to(self.show_error):
            starter = load_preset("Suites", "starter", self.preferences)
            self._begin_with(starter, "preset starter")

    def _add_models(self, paths: Sequence[Path]) -> None:
        self.docks.show("editor")
        self.editor.grid_form.models.add_files(map(str, paths))

    def _write_runs_to(self, folder: Path) -> None:
        self.control.runs_folder = folder

    def _open_if_another(self, folder: Path) -> None:
        if folder not in (self.feed.folder, self.feed.opening):
            self.open_run(folder)

    def _run_opened(self, state: RunState) -> None:
        self.preferences.add_recent(state.folder)
        self.log.follow(log_of(state.folder))
        self.table.show_plan(state.manifest.asked)
        self.welcome.show_recent(self.preferences.recent_runs())
        self.setWindowTitle(f"{state.folder.name} - Graphlap")
        self.docks.docks["welcome"].hide()
        if self.docks.page == "measure":
            self.docks.docks["histogram"].raise_()
        if state.alive and self.control.folder != state.folder:
            pid = state.live.pid if state.live else "?"
            self.statusBar().showMessage(
                f"This run is written by another process (pid {pid}); this window only watches."
            )

    def _show_run(self, state: RunState) -> None:
        self.trust.show_run(state)
        mine = self.control.folder == state.folder
        self.progress.show_run(state, self.control.state if mine else "")
        lacks = state.live is None or state.live.state != "finished"
        idle = self.control.state == "idle" and not state.alive and not state.problem
        self.actions_by_key["resume_run"].setEnabled(lacks and idle)

    def _find_doubted(self, query: str) -> None:
        self.table.filter_by(query)
        self.docks.show("results")

    def _page_changed(self, page: str) -> None:
        self.trust.stay()
        self.actions_by_key[page].setChecked(True)
        in_front = self.editor.grid_form.models.search if page == "measure" else self.table.view
        in_front.setFocus()

    def _show_control_state(self, state: str) -> None:
        self.feed.stay_awake(state != "idle")
        moving = state in ("running", "paused")
        self.actions_by_key["run"].setEnabled(not moving)
        self.actions_by_key["pause"].setEnabled(moving)
        text = "&Go on" if state == "paused" else "&Pause"
        self.actions_by_key["pause"].setText(text)
        self.actions_by_key["pause"].setIconText(text.replace("&", ""))
        self.actions_by_key["stop"].setEnabled(moving)
        self.actions_by_key["resume_run"].setEnabled(False)
        if self.feed.state is not None:
            self._show_run(self.feed.state)

    def _fill_recent(self) -> None:
        self.recent_menu.clear()
        for folder in self.preferences.recent_runs():
            action = self.recent_menu.addAction(folder.name)
            action.setToolTip(str(folder))
            action.triggered.connect(lambda _=False, folder=folder: self.open_run(folder))
        if self.recent_menu.isEmpty():
            self.recent_menu.addAction("No run was opened yet").setEnabled(False)
            return
        self.recent_menu.addSeparator()
        self.recent_menu.addAction("Forget all", self.preferences.clear_recent)

    def _restore_geometry(self) -> None:
        self.resize(1280, 800)
        kept = self.preferences.layout("geometry")
        if not kept.isEmpty():
            self.restoreGeometry(kept)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        event.acceptProposedAction()
        self.files.open_paths([Path(url.toLocalFile()) for url in event.mimeData().urls()])

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Remember everything and end what is ours; a batch process goes on by itself."""
        if not self.runs.queue_may_go():
            event.ignore()
            return
        self.docks.save()
        self.preferences.save_layout("geometry", self.saveGeometry())
        self.preferences.columns = self.table.visible_columns()
        self.preferences.sync()
        self.docks.close()
        self._cursor.close()
        self.editor.close_background()
        self.feed.close()
        self.control.close()
        QThreadPool.globalInstance().waitForDone()
        event.accept()
