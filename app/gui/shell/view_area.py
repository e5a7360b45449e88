"""The bar of views and the view in front."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget


class ViewArea(QWidget):
    """`shown` carries the key of the view that has come to the front."""

    shown = Signal(str)

    def __init__(self, views: Mapping[str, tuple[str, QWidget]]) -> None:
        """By key the title and the widget of each view, in the order of their tabs."""
        super().__init__()
        self._keys = list(views)
        self.tabs = QTabBar(expanding=False, usesScrollButtons=True)
        self.tabs.setAccessibleName("views")
        self._stack = QStackedWidget()
        for title, widget in views.values():
            self.tabs.addTab(title)
            self._stack.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)
        self.tabs.currentChanged.connect(self._show)

    @property
    def current(self) -> str:
        return self._keys[self._stack.currentIndex()]

    def has(self, key: str) -> bool:
        return key in self._keys

    def show_view(self, key: str) -> None:
        self.tabs.setCurrentIndex(self._keys.index(key))

    def _show(self, place: int) -> None:
        self._stack.setCurrentIndex(place)
        self.shown.emit(self._keys[place])
