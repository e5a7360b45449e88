"""The start page: a place to drop files, a first measurement, running sweeps and recent runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtSvgWidgets import QSvgWidget
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.controls import heading, lay, named, scroll_area
from app.gui.look.text import PlainLabel, caption, plain_tip
from app.gui.look.theme import icon_bytes
from app.run_folder.folder import is_being_written
from app.run_folder.live_status import run_headline

_NEWEST = 30
"""So many folders of a runs folder are looked at, the newest first."""


def running_sweeps(runs_folder: Path, paths: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Run folders that some process writes: of the runs folder, then among `paths`."""
    try:
        folders = [path for path in runs_folder.iterdir() if path.is_dir()]
    except OSError:
        folders = []
    newest = islice(sorted(folders, key=lambda path: path.name, reverse=True), _NEWEST)
    candidates = dict.fromkeys(path.resolve() for path in (*newest, *paths))
    return tuple(path for path in candidates if is_being_written(path))


LOOK_EVERY_MS = 2_000
_MOST_RECENT = 6
_WIDEST = 44
"""In heights of a line of text."""


class StartPage(QWidget):
    """`try_asked` measures two small models at once, `new_asked` opens the composer, `file_asked`
    the dialog for models, plans and runs; `open_asked` carries a run folder.

    `runs_folder` answers where sweeps of this window are written.
    """

    try_asked = Signal()
    new_asked = Signal()
    file_asked = Signal()
    open_asked = Signal(object)

    def __init__(self, runs_folder: Callable[[], Path]) -> None:
        super().__init__()
        self._runs_folder = runs_folder
        self._recent: Sequence[Path] = ()
        self._running: Sequence[Path] = ()
        drop = QPushButton("Drop an ONNX model, a run or a plan here\nor choose a file")
        self.drop_button = named(drop, "open a model, a run or a plan", objectName="drop")
        tip = "Measures cnn_tiny and lstm_tiny on the CPU, in half a minute"
        first = QPushButton("Try it: measure two small models")
        self.try_button = named(first, tip=tip, objectName="primary")
        tip = "Choose models, runtimes and how long to measure (Ctrl+N)"
        self.new_button = named(QPushButton("New sweep…"), tip=tip)
        self.drop_button.clicked.connect(self.file_asked)
        self.try_button.clicked.connect(self.try_asked)
        self.new_button.clicked.connect(self.new_asked)
        self.running_rows = QVBoxLayout()
        self.recent_rows = QVBoxLayout()
        for rows in (self.running_rows, self.recent_rows):
            rows.setSpacing(2)
        self._recent_title = heading("Recent runs")
        self._timer = QTimer(self, interval=LOOK_EVERY_MS)
        self._timer.timeout.connect(self.look)
        self._lay_out()

    def _lay_out(self) -> None:
        picture = QSvgWidget()
        picture.load(icon_bytes())
        picture.setFixedSize(40, 40)
        title = named(QLabel("Graphlap"), textSize="title")
        head = lay(QHBoxLayout(), named(picture, "Graphlap"), (title, 1))
        words = QLabel("How long do ONNX models take on this machine?", wordWrap=True)
        buttons = lay(QHBoxLayout(), (self.try_button, 2), (self.new_button, 1))
        parts = (self.running_rows, self.drop_button, buttons, self._recent_title, self.recent_rows)
        box, page = QWidget(), QWidget()
        box.setMaximumWidth(_WIDEST * self.fontMetrics().height())
        column = QVBoxLayout(box)
        lay(column, head, named(words, muted=True), *parts, margins=None, spacing=12)
        row = lay(QHBoxLayout(), 1, (box, 100), 1)
        lay(QVBoxLayout(page), 2, row, 3, margins=None)
        lay(QVBoxLayout(self), scroll_area("start page", page))

    def show_recent(self, folders: Sequence[Path]) -> None:
        """List the runs that were open last."""
        self._recent = folders
        _clear(self.recent_rows)
        for folder in folders[:_MOST_RECENT]:
            self.recent_rows.addWidget(self._row(folder, run_headline(folder)))
        self._recent_title.setVisible(bool(folders))

    def look(self) -> None:
        """List the sweeps that are being measured now."""
        paths = running_sweeps(self._runs_folder(), self._recent)
        if paths == self._running:
            return
        self._running = paths
        _clear(self.running_rows)
        if paths:
            self.running_rows.addWidget(heading("Being measured now"))
        for folder in paths:
            row = self._row(folder, "follow this sweep")
            row.setObjectName("live")
            self.running_rows.addWidget(row)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        QTimer.singleShot(0, self, self.look)  # after the first paint
        self.try_button.setFocus()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._timer.stop()

    def _row(self, folder: Path, text: str) -> QPushButton:
        """A button with the run's name, and with what is known of it in the line below."""
        tip = plain_tip(f"{text}\n{folder}")
        row = named(QPushButton(flat=True), f"open {caption(folder.name)}", tip, row=True)
        row.setAccessibleDescription(text)
        line = named(PlainLabel(text), muted=True, textSize="small")
        column = lay(QVBoxLayout(row), margins=(8, 4, 8, 4), spacing=0)
        for words in (PlainLabel(folder.name), line):
            words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            words.setMinimumWidth(1)
            column.addWidget(words)
        row.setMinimumHeight(column.sizeHint().height())
        row.clicked.connect(partial(self.open_asked.emit, folder))
        return row


def _clear(rows: QVBoxLayout) -> None:
    while (item := rows.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
