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
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.controls import heading
from app.gui.look.icons import icon_bytes
from app.gui.look.text import PlainLabel, caption, plain_tip
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
        self.drop_button = QPushButton("Drop an ONNX model, a run or a plan here\nor choose a file")
        self.drop_button.setObjectName("drop")
        self.drop_button.setAccessibleName("open a model, a run or a plan")
        self.try_button = QPushButton("Try it: measure two small models")
        self.try_button.setObjectName("primary")
        self.try_button.setToolTip("Measures cnn_tiny and lstm_tiny on the CPU, in half a minute")
        self.new_button = QPushButton("New sweep…")
        self.new_button.setToolTip("Choose models, runtimes and how long to measure (Ctrl+N)")
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
        picture.setAccessibleName("Graphlap")
        title = QLabel("Graphlap")
        title.setProperty("textSize", "title")
        head = QHBoxLayout()
        head.addWidget(picture)
        head.addWidget(title, 1)
        words = QLabel("How long do ONNX models take on this machine?", wordWrap=True)
        words.setProperty("muted", True)
        buttons = QHBoxLayout()
        buttons.addWidget(self.try_button, 2)
        buttons.addWidget(self.new_button, 1)
        box = QWidget()
        box.setMaximumWidth(_WIDEST * self.fontMetrics().height())
        column = QVBoxLayout(box)
        column.setSpacing(12)
        column.addLayout(head)
        column.addWidget(words)
        column.addLayout(self.running_rows)
        column.addWidget(self.drop_button)
        column.addLayout(buttons)
        column.addWidget(self._recent_title)
        column.addLayout(self.recent_rows)
        page = QWidget()
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(box, 100)
        row.addStretch(1)
        middle = QVBoxLayout(page)
        middle.addStretch(2)
        middle.addLayout(row)
        middle.addStretch(3)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setAccessibleName("start page")
        area.setWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)

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
        row = QPushButton(flat=True)
        row.setProperty("row", True)
        row.setAccessibleName(f"open {caption(folder.name)}")
        row.setAccessibleDescription(text)
        row.setToolTip(plain_tip(f"{text}\n{folder}"))
        name, line = PlainLabel(folder.name), PlainLabel(text)
        line.setProperty("muted", True)
        line.setProperty("textSize", "small")
        column = QVBoxLayout(row)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(0)
        for words in (name, line):
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
