"""The one row above the data: menus, the open run, its warnings, what starts and stops a run."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QMenuBar, QSizePolicy, QToolButton, QWidget

from app.gui.look.words import caption, plain_tip

BUTTONS = ("find", "new", "run", "pause", "stop")
_ICON = QSize(16, 16)
_NO_RUN = "No run"
_ICONS_ONLY = ("find",)
_LEAST_NAME_PX = 60


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
        self._badge: QToolButton | None = None
        self._fitted: object = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(4, 2, 6, 2)
        self._row.setSpacing(4)
        self._row.addWidget(self.menu_bar)
        self._row.addWidget(self.run_name)
        self._row.addStretch(1)

    def add_badge(self, badge: QToolButton) -> None:
        """What is wrong with the run, right of its name; only its icon where words have no room."""
        self._badge = badge
        badge.setIconSize(_ICON)
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

    def event(self, event: QEvent) -> bool:
        """Another text, as of the badge, needs other room."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().event(event)

    def _fit(self) -> None:
        """Leave out words that have no room: those of the buttons, then the badge's; and shorten a
        long name."""
        shown = [*self.buttons.values(), *filter(None, (self._badge,))]
        texts = tuple((one.text(), one.isHidden()) for one in shown)
        need = (self.width(), self._name, texts, self.font().key())
        if need == self._fitted:
            return
        self._fitted = need
        style = Qt.ToolButtonStyle
        for key, button in self.buttons.items():
            worded = key not in _ICONS_ONLY
            button.setToolButtonStyle(
                style.ToolButtonTextBesideIcon if worded else style.ToolButtonIconOnly
            )
        if self._badge is not None:
            self._badge.setToolButtonStyle(style.ToolButtonTextOnly)
        self.run_name.setText(self._shortened(_LEAST_NAME_PX))
        for one in shown:
            if self._row.sizeHint().width() > self.width():
                one.setToolButtonStyle(style.ToolButtonIconOnly)
        spare = self.width() - self._row.sizeHint().width()
        self.run_name.setText(self._shortened(_LEAST_NAME_PX + max(0, spare)))

    def _shortened(self, width: int) -> str:
        middle = Qt.TextElideMode.ElideMiddle
        return caption(self.run_name.fontMetrics().elidedText(self._name or _NO_RUN, middle, width))
