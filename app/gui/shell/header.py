"""The one row above the data: menus, the open run, its warnings, what starts and stops a run."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QMenuBar, QSizePolicy, QToolButton, QWidget

from app.gui.look.words import caption, plain_tip

BUTTONS = ("find", "new", "run", "pause", "stop")
_ICON = QSize(16, 16)
_NO_RUN = "No run"


class Header(QWidget):
    """`menu_bar` holds the menus; a badge and the buttons are added once they are made."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("header")
        self.menu_bar = QMenuBar()
        self.menu_bar.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.run_name = QToolButton()
        self.run_name.setText(_NO_RUN)
        self.run_name.setAccessibleName("open run")
        self.run_name.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.run_name.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.run_name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.buttons: dict[str, QToolButton] = {}
        self._name = ""
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(4, 2, 6, 2)
        self._row.setSpacing(4)
        self._row.addWidget(self.menu_bar)
        self._row.addWidget(self.run_name)
        self._row.addStretch(1)

    def add_badge(self, badge: QWidget) -> None:
        """What is wrong with the run, right of its name."""
        self._row.insertWidget(self._row.indexOf(self.run_name) + 1, badge)

    def add_buttons(self, actions: Mapping[str, QAction], recent: QMenu) -> None:
        """The actions that are used most; `recent` opens below the run's name."""
        self.run_name.setMenu(recent)
        for key in BUTTONS:
            button = QToolButton()
            button.setDefaultAction(actions[key])
            button.setIconSize(_ICON)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(actions[key].text().replace("&", "").rstrip("…"))
            self._row.addWidget(button)
            self.buttons[key] = button
        self._fit()

    def show_run(self, name: str) -> None:
        """The name of the open run; "" where none is open."""
        self._name = name
        self.run_name.setToolTip(plain_tip(name) if name else "Open one of the runs before")
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Leave out the words of buttons that have no room for them, and shorten a long name."""
        style = Qt.ToolButtonStyle
        for key, button in self.buttons.items():
            only_icon = key == "find"
            button.setToolButtonStyle(
                style.ToolButtonIconOnly if only_icon else style.ToolButtonTextBesideIcon
            )
        if self._row.sizeHint().width() > self.width():
            for button in self.buttons.values():
                button.setToolButtonStyle(style.ToolButtonIconOnly)
        letters = self.run_name.fontMetrics()
        others = self._row.sizeHint().width() - self.run_name.sizeHint().width()
        room = max(60, self.width() - others - 40)
        text = letters.elidedText(self._name or _NO_RUN, Qt.TextElideMode.ElideMiddle, room)
        self.run_name.setText(caption(text))
