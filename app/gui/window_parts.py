"""What the main window is made of: its parts and their docks, none of which hears of another."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMainWindow

from app.gui.baseline_commands import BaselineCommands
from app.gui.docks import Docks
from app.gui.editor.editor import SweepEditor
from app.gui.editor_commands import EditorCommands
from app.gui.export_view import Exportable
from app.gui.file_commands import FileCommands
from app.gui.help_commands import HelpCommands
from app.gui.launch.control import RunControl
from app.gui.launch.queue import SweepQueue
from app.gui.layout_commands import LayoutCommands
from app.gui.look.cursor import RestingCursor
from app.gui.look.preferences import Preferences
from app.gui.palette_entries import Finder
from app.gui.panels.case_tree import CaseTree
from app.gui.panels.first_run import FirstRunPanel
from app.gui.panels.log import LogPanel
from app.gui.panels.progress import ProgressLine
from app.gui.panels.queue import QueuePanel
from app.gui.panels.warnings import WarningsBadge
from app.gui.row_commands import RowCommands
from app.gui.run_commands import RunCommands
from app.gui.run_feed import RunFeed
from app.gui.tables.results import ResultsTable
from app.gui.view_commands import ViewCommands
from app.gui.views import VIEWS, Views

LEAST = QSize(900, 560)


class WindowParts(QMainWindow):
    """Editor, views, table, panels and commands by name; `MainWindow` puts them together."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self.preferences = preferences
        self.setWindowTitle("Graphlap")
        self.setMinimumSize(LEAST)
        self.setAcceptDrops(True)
        self.control = RunControl(SweepQueue(self), self.preferences.runs_folder, self)
        self.editor = SweepEditor(self.preferences)
        self.views = Views()
        self.table = ResultsTable()
        self.progress, self.log = ProgressLine(), LogPanel()
        self.setStatusBar(self.progress)
        self.queue_panel = QueuePanel(self.control)
        self.welcome = FirstRunPanel()
        self.series_list = CaseTree()
        self.series_list.add_filter(self.table.filter_box, self.table.chips)
        self.feed = RunFeed(self.views, self.table, self)
        self.docks = Docks(self, self.preferences)
        self._cursor = RestingCursor(self)
        self._make_docks()
        self.runs = RunCommands(self.editor, self.control, self.feed, self)
        self.files = FileCommands(self, self.editor, self.feed, self.preferences)
        self.rows = RowCommands(self.table, self.feed, self.docks, self.preferences)
        self.views_and_table: dict[str, Exportable] = {**self.views.by_key, "results": self.table}
        self.looks = ViewCommands(self, self.docks, self.views_and_table)
        self.layouts = LayoutCommands(self.docks)
        self.help = HelpCommands(self)
        self.finder = Finder(self)
        self.edits = EditorCommands(self.docks, self.editor, self.preferences)
        listed, undone = self.series_list.baselines, self.editor.undo_stack
        self.named = BaselineCommands(listed, self.docks, undone, self.preferences)
        self.badge = WarningsBadge()

    def _make_docks(self) -> None:
        self.docks.add("editor", "Sweep", self.editor)
        self.docks.add("welcome", "Welcome", self.welcome)
        for spec in VIEWS:
            self.docks.add(spec.key, spec.title, self.views.by_key[spec.key])
        series = self.docks.add("series", "Cases", self.series_list)
        series.visibilityChanged.connect(self.series_list.set_listed)
        self.docks.add("results", "Results table", self.table)
        self.docks.add("queue", "Queue", self.queue_panel)
        self.docks.add("log", "Log", self.log)
