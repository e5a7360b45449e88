"""A part of a form that opens with a click on its title, so that what few need takes one line."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget


class Fold(QWidget):
    """`button` opens and closes `content`; it is closed at first."""

    def __init__(self, title: str, hint: str, content: QWidget) -> None:
        super().__init__()
        self.content = content
        self.button = QToolButton()
        self.button.setCheckable(True)
        self.button.setText(title)
        self.button.setToolTip(hint)
        self.button.setAccessibleDescription(hint)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setAutoRaise(True)
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.button.toggled.connect(self._show)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.button)
        column.addWidget(content)
        self._show(False)

    def open(self) -> None:
        """Show the content; it stays until the user closes it."""
        self.button.setChecked(True)

    def _show(self, shown: bool) -> None:
        self.content.setVisible(shown)
        self.button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
