"""The tool bar: the actions that are used most, and how they fit a narrow window."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QToolBar

SEPARATOR = "-"
TOOL_BAR = (
    "editor",
    SEPARATOR,
    "measure",
    "results",
    "inspect",
    SEPARATOR,
    "run",
    "pause",
    "stop",
    SEPARATOR,
    "open_run",
)


class ToolBar(QToolBar):
    """The actions that are used most, with words beside the icons where they all have room."""

    def __init__(self, window: QMainWindow, actions: dict[str, QAction]) -> None:
        super().__init__("Tool bar")
        self.setObjectName("tool_bar")
        self.setMovable(False)
        self.setIconSize(QSize(18, 18))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        for key in TOOL_BAR:
            if key == SEPARATOR:
                self.addSeparator()
                continue
            self.addAction(actions[key])
            button = self.widgetForAction(actions[key])
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(actions[key].text().replace("&", ""))
        window.addToolBar(self)

    def fit(self, width: int) -> None:
        """Leave the words out where some button would be cut off; tool tips still have them."""
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        if self.sizeHint().width() > width:
            self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
