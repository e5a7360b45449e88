"""What a new user sees first: two clicks from here to a measured result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
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

from app.gui.look.icon import icon_bytes
from app.gui.look.words import Words, caption, plain_tip
from app.run_folder.live_status import brief

_MOST_RECENT = 5
_LEAST_WIDE, _WIDEST = 22, 32
"""In heights of a line of text, so that no font is too large for it."""
_INTRODUCTION = (
    "Graphlap measures how long ONNX graphs take, on every runtime of this machine, under one "
    "protocol. The whole latency distribution is kept, and every number says how far it goes."
)


class FirstRunPanel(QWidget):
    """`try_asked` composes a first sweep, `open_asked` opens a folder (None: ask which)."""

    try_asked = Signal()
    suite_asked = Signal()
    open_asked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        picture = QSvgWidget()
        picture.load(icon_bytes())
        picture.setFixedSize(72, 72)
        picture.setAccessibleName("Graphlap")
        title = QLabel("Lap times for ONNX graphs")
        font = title.font()
        font.setPointSizeF(1.7 * font.pointSizeF())
        font.setBold(True)
        title.setFont(font)
        words = QLabel(_INTRODUCTION, wordWrap=True)
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.try_button = QPushButton("Try it: two small models on the CPU")
        self.try_button.setObjectName("primary")
        self.try_button.setToolTip("Fills the editor; “Run sweep” there gives the first result")
        self.suite_button = QPushButton("Compose the starter suite")
        self.suite_button.setToolTip("Streaming CNNs and LSTMs, an MLP and a character-level CNN")
        self.open_button = QPushButton("Open a run folder…")
        self.try_button.clicked.connect(self.try_asked)
        self.suite_button.clicked.connect(self.suite_asked)
        self.open_button.clicked.connect(lambda: self.open_asked.emit(None))
        self._recent = QVBoxLayout()
        box = QWidget()
        line = self.fontMetrics().height()
        box.setMinimumWidth(_LEAST_WIDE * line)
        box.setMaximumWidth(_WIDEST * line)
        column = QVBoxLayout(box)
        column.setSpacing(9)
        column.addWidget(picture, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(10)
        column.addWidget(title, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(words)
        margins = column.contentsMargins()
        words.setMinimumHeight(
            words.heightForWidth(_LEAST_WIDE * line - margins.left() - margins.right())
        )
        for button in (self.try_button, self.suite_button, self.open_button):
            column.addWidget(button)
        column.addLayout(self._recent)
        page = QWidget()
        middle = QVBoxLayout(page)
        middle.addStretch(2)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(box, 100)
        row.addStretch(1)
        middle.addLayout(row)
        middle.addStretch(3)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName("welcome")
        area.setWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)

    def show_recent(self, folders: Sequence[Path]) -> None:
        """List the runs that were open last."""
        while (item := self._recent.takeAt(0)) is not None:
            if (button := item.widget()) is not None:
                button.deleteLater()
        for folder in folders[:_MOST_RECENT]:
            told = brief(folder)
            recent = QPushButton(caption(folder.name), flat=True)
            recent.setToolTip(plain_tip(f"{told}\n{folder}" if told else str(folder)))
            recent.setAccessibleDescription(told)
            recent.clicked.connect(partial(self.open_asked.emit, folder))
            self._recent.addWidget(recent)
            line = Words(told, wrap=True)
            line.setProperty("muted", True)
            line.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            line.setVisible(bool(told))
            self._recent.addWidget(line)
