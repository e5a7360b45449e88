"""Where the docks of a page stand by default: side by side, or as tabs where there is no room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

from app.gui.views import VIEWS, Page

_EDITOR_LINES = 21
"""Its width in heights of a line of text."""
_SERIES_LINES = 15
_TABLE_SHARE: dict[Page, float] = {"measure": 0.24, "results": 0.26, "inspect": 0.24}
"""Of the window's height: what bars and tabs leave of the rest is more than half of it."""
_VERTICAL, _HORIZONTAL = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


def arrange(
    window: QMainWindow, docks: Mapping[str, QDockWidget], page: Page, cramped: bool
) -> None:
    """Place every dock anew; those that are at home on other pages are hidden."""
    for dock in docks.values():
        dock.setFloating(False)
        window.removeDockWidget(dock)
    _Placing(window, docks, page).begin(cramped)
    dress_tabs(window)


def dress_tabs(window: QMainWindow) -> None:
    """Qt makes a bar wherever docks come to stand over one another, without a name."""
    for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        bar.setElideMode(Qt.TextElideMode.ElideNone)
        bar.setUsesScrollButtons(True)
        bar.setAccessibleName("views and panels in this place")


def views_of(page: Page) -> list[str]:
    """The keys of a page's views, in the order of their tabs."""
    return [view.key for view in VIEWS if view.page == page]


class _Placing:
    """One arrangement of one page."""

    def __init__(self, window: QMainWindow, docks: Mapping[str, QDockWidget], page: Page) -> None:
        self._window, self._docks, self._page = window, docks, page
        self._views = views_of(page)

    def begin(self, cramped: bool) -> None:
        if cramped:
            self._one_place()
        elif self._page == "measure":
            self._beside_the_editor()
        else:
            self._over_the_table()
        self._park_the_rest()

    def _beside_the_editor(self) -> None:
        self._first("editor")
        self._split("editor", "welcome", _HORIZONTAL)
        self._split("welcome", "results", _VERTICAL)
        self._split("welcome", "series", _HORIZONTAL)
        self._tabify(["welcome", *self._views])
        self._tabify(["results", "queue", "log"])
        width = _EDITOR_LINES * self._window.fontMetrics().height()
        series = _SERIES_LINES * self._window.fontMetrics().height()
        widths = [width, self._window.width() - width - series, series]
        self._resize(["editor", "welcome", "series"], widths, _HORIZONTAL)
        self._share_height("welcome")

    def _over_the_table(self) -> None:
        self._first(self._views[0])
        self._split(self._views[0], "results", _VERTICAL)
        self._tabify(self._views)
        self._share_height(self._views[0])

    def _one_place(self) -> None:
        """All as tabs, the table among the first: a bar of many tabs scrolls."""
        first, *rest = self._views
        on_measure = self._page == "measure"
        before, after = (
            (["welcome", "editor"], ["series", "queue", "log"]) if on_measure else ([], [])
        )
        keys = [*before, first, "results", *rest, *after]
        self._first(keys[0])
        self._tabify(keys)

    def _share_height(self, above: str) -> None:
        table = round(self._window.height() * _TABLE_SHARE[self._page])
        self._resize([above, "results"], [self._window.height() - table, table], _VERTICAL)

    def _park_the_rest(self) -> None:
        """Hidden docks get a place too: Qt shows those that a saved state does not know."""
        home = self._docks[self._views[0]]
        absent = Qt.DockWidgetArea.NoDockWidgetArea
        for dock in self._docks.values():
            if self._window.dockWidgetArea(dock) == absent:
                self._window.tabifyDockWidget(home, dock)
                dock.hide()

    def _first(self, key: str) -> None:
        self._window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self._docks[key])
        self._docks[key].show()

    def _split(self, key: str, new: str, orientation: Qt.Orientation) -> None:
        """Put a dock beside or below another, before either has tabs: then Qt only adds one."""
        self._window.splitDockWidget(self._docks[key], self._docks[new], orientation)
        self._docks[new].show()

    def _tabify(self, keys: Sequence[str]) -> None:
        """Put docks as tabs into one place, the first of them in front."""
        for before, key in pairwise(keys):
            self._window.tabifyDockWidget(self._docks[before], self._docks[key])
            self._docks[key].show()
        self._docks[keys[0]].raise_()

    def _resize(self, keys: Sequence[str], sizes: Sequence[int], way: Qt.Orientation) -> None:
        self._window.resizeDocks([self._docks[key] for key in keys], list(sizes), way)
