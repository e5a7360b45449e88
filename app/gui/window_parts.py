"""What the main window is made of: its parts and the frame that holds them, not yet connected."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMainWindow, QWidget

from app.gui.baseline_commands import BaselineCommands
from app.gui.editor.editor import SweepEditor
from app.gui.editor_commands import EditorCommands
from app.gui.export_view import Exportable
from app.gui.file_commands import FileCommands
from app.gui.garbage import GarbageCollector
from app.gui.help_commands import HelpCommands
from app.gui.launch.control import RunControl
from app.gui.launch.queue import SweepQueue
from app.gui.look.cursor import RestingCursor
from app.gui.look.preferences import Preferences
from app.gui.look.style_sheet import prepare_application
from app.gui.palette_entries import Finder
from app.gui.panels.case_tree import CaseTree
from app.gui.panels.log import LogPanel
from app.gui.panels.progress import ProgressLine
from app.gui.panels.queue import QueuePanel
from app.gui.panels.warnings import WarningsBadge
from app.gui.row_commands import RowCommands
from app.gui.run_commands import RunCommands
from app.gui.run_feed import RunFeed
from app.gui.shell.frame import Frame
from app.gui.shell.header import Header
from app.gui.start.start_page import StartPage
from app.gui.tables.results import ResultsTable
from app.gui.view_area import ViewArea
from app.gui.view_commands import ViewCommands
from app.gui.views import Views

LEAST = QSize(900, 560)


class WindowParts(QMainWindow):
    """Editor, views, table, panels and commands by name; `MainWindow` puts them together."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._garbage = GarbageCollector(self)
        self.preferences = preferences
        prepare_application()
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
        self.start_page = StartPage(lambda: self.control.runs_folder)
        self.series_list = CaseTree()
        self.series_list.add_filter(self.table.filter_box, self.table.chips)
        self.feed = RunFeed(self.views, self.table, self)
        self.badge = WarningsBadge()
        self.header = Header()
        self.view_area = ViewArea(self.views)
        self.frame = Frame(self.header, self.preferences)
        self._cursor = RestingCursor(self)
        self._fill_frame()
        self.runs = RunCommands(self.editor, self.control, self.feed, self)
        self.files = FileCommands(self, self.editor, self.feed, self.preferences)
        self.rows = RowCommands(self.table, self.feed, self.frame, self.preferences)
        self.views_and_table: dict[str, Exportable] = {**self.views.by_key, "results": self.table}
        self.looks = ViewCommands(self, self.frame, self.views_and_table)
        self.help = HelpCommands(self)
        self.finder = Finder(self)
        self.edits = EditorCommands(self.frame, self.editor)
        listed, undone = self.series_list.baselines, self.editor.undo_stack
        self.named = BaselineCommands(listed, self.frame, undone, self.preferences)

    def _fill_frame(self) -> None:
        lower: dict[str, tuple[str, QWidget]] = {
            "results": ("Details", self.table),
            "queue": ("Queue", self.queue_panel),
            "log": ("Log", self.log),
        }
        self.frame.fill_in(self.start_page, self.editor, self.series_list, self.view_area, lower)
        self.setCentralWidget(self.frame)
