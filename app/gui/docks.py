"""The window's docks: three pages of them, a default layout for each, and the user's own.

A page is a set of docks with its own saved arrangement, so that at most half a dozen tabs
stand side by side; any dock can be brought to any page from the View menu.
"""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QVBoxLayout, QWidget

from app.gui.look.preferences import LAYOUT_VERSION, Preferences
from app.gui.views import VIEWS, Page

EDITOR_WIDTH = 352
_SERIES_WIDTH = 250
_HOMES: dict[str, Page] = {
    **{view.key: view.page for view in VIEWS},
    **dict.fromkeys(("editor", "progress", "welcome", "series", "queue"), "measure"),
}
"""Where a dock is brought to the front; what is in none of them, on whichever page is open."""
_VERTICAL, _HORIZONTAL = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


class Docks(QObject):
    """Wraps widgets in docks of `window` and arranges them; `page_changed` names the page."""

    page_changed = Signal(str)

    def __init__(self, window: QMainWindow, preferences: Preferences) -> None:
        super().__init__(window)
        self._window, self._preferences = window, preferences
        self.docks: dict[str, QDockWidget] = {}
        self.page: Page = "measure"
        self._titles = QTimer(self, singleShot=True, interval=0)
        self._titles.timeout.connect(self._dress_titles)
        window.setDockNestingEnabled(True)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.setDockOptions(
            window.dockOptions()
            | QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AllowTabbedDocks
        )

    def add(self, key: str, title: str, widget: QWidget) -> QDockWidget:
        """Make a dock; it is placed by `start`."""
        dock = QDockWidget(title, self._window)
        dock.setObjectName(key)
        dock.setAccessibleName(title)
        dock.setWidget(_stood_in(widget))
        dock.visibilityChanged.connect(widget.setVisible)
        dock.topLevelChanged.connect(self._titles_later)
        dock.dockLocationChanged.connect(self._titles_later)
        dock.visibilityChanged.connect(self._titles_later)
        self.docks[key] = dock
        return dock

    def start(self, page: Page = "measure") -> None:
        """Place every dock for the first time, as it was left or by default."""
        self.page = page
        self._show_page()

    def go_to(self, page: Page) -> None:
        """Keep this page's arrangement and show another's."""
        if page == self.page:
            return
        self.save()
        self.page = page
        self._show_page()

    def save(self) -> None:
        """Remember the present page's arrangement."""
        self._preferences.save_layout(self.page, self._window.saveState(LAYOUT_VERSION))

    def reset(self) -> None:
        """Put the present page back to its default arrangement."""
        self._arrange()
        self.save()

    def keep_custom(self) -> None:
        """Keep the present page's arrangement as its custom layout."""
        state = self._window.saveState(LAYOUT_VERSION)
        self._preferences.save_layout(f"{self.page}-custom", state)

    def restore_custom(self) -> bool:
        """Bring the custom layout of this page back; False if none was kept."""
        state = self._preferences.layout(f"{self.page}-custom")
        return not state.isEmpty() and self._window.restoreState(state, LAYOUT_VERSION)

    def show(self, key: str) -> None:
        """Bring a dock to the front, on the page where it is at home."""
        home = _HOMES.get(key, self.page)
        if self.docks[key].isHidden() and home != self.page:
            self.go_to(home)
        self.docks[key].show()
        self.docks[key].raise_()

    def view_actions(self) -> list[QAction]:
        """A check box for each dock, in the order in which they were made."""
        return [dock.toggleViewAction() for dock in self.docks.values()]

    def close(self) -> None:
        """No change of the docks is heeded any more."""
        self._titles.stop()
        for dock in self.docks.values():
            dock.disconnect(self)

    def _titles_later(self, *_: object) -> None:
        self._titles.start()

    def _dress_titles(self) -> None:
        """A dock among tabs is named by its tab, and dragged by it; others have a title bar."""
        for dock in self.docks.values():
            bare = not dock.isFloating() and bool(self._window.tabifiedDockWidgets(dock))
            if bare and dock.titleBarWidget() is None:
                dock.setTitleBarWidget(QWidget(dock))
            elif not bare and dock.titleBarWidget() is not None:
                dock.titleBarWidget().deleteLater()
                # None brings Qt's own bar back, as its manual says and its stubs do not.
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]

    def _show_page(self) -> None:
        state = self._preferences.layout(self.page)
        # Some arrangement must be there before Qt can restore another over it.
        self._arrange()
        if not state.isEmpty():
            self._window.restoreState(state, LAYOUT_VERSION)
        self.page_changed.emit(self.page)

    def _arrange(self) -> None:
        for dock in self.docks.values():
            dock.setFloating(False)
            self._window.removeDockWidget(dock)
        place = {"measure": self._measure, "results": self._results, "inspect": self._inspect}
        place[self.page]()
        self._park_the_rest()
        for bar in self._window.findChildren(
            QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly
        ):
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setUsesScrollButtons(True)

    def _measure(self) -> None:
        front = ["welcome", *self._views("measure")]
        self._first("editor")
        self._split("editor", "progress", _HORIZONTAL)
        self._split("progress", "welcome", _VERTICAL)
        self._split("welcome", "results", _VERTICAL)
        self._split("welcome", "series", _HORIZONTAL)
        self._tabify(front)
        self._tabify(["results", "queue", "log"])
        widths = [EDITOR_WIDTH, 900 - _SERIES_WIDTH, _SERIES_WIDTH]
        self._resize(["editor", "welcome", "series"], widths, _HORIZONTAL)
        self._resize(["progress", "welcome", "results"], [90, 430, 170], _VERTICAL)

    def _results(self) -> None:
        self._over_the_table("results", 260)

    def _inspect(self) -> None:
        self._over_the_table("inspect", 170)

    def _over_the_table(self, page: Page, table_height: int) -> None:
        views = self._views(page)
        self._first(views[0])
        self._split(views[0], "results", _VERTICAL)
        self._tabify(views)
        self._resize([views[0], "results"], [720 - table_height, table_height], _VERTICAL)

    def _park_the_rest(self) -> None:
        """Hidden docks get a place too: Qt shows those that a saved state does not know."""
        home = self.docks[self._views(self.page)[0]]
        absent = Qt.DockWidgetArea.NoDockWidgetArea
        for dock in self.docks.values():
            if self._window.dockWidgetArea(dock) == absent:
                self._window.tabifyDockWidget(home, dock)
                dock.hide()

    def _views(self, page: Page) -> list[str]:
        return [view.key for view in VIEWS if view.page == page]

    def _first(self, key: str) -> None:
        self._window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self.docks[key])
        self.docks[key].show()

    def _split(self, key: str, new: str, orientation: Qt.Orientation) -> None:
        """Put a dock beside or below another, before either has tabs: then Qt only adds one."""
        self._window.splitDockWidget(self.docks[key], self.docks[new], orientation)
        self.docks[new].show()

    def _tabify(self, keys: list[str]) -> None:
        """Put docks as tabs into one place, the first of them in front."""
        for before, key in pairwise(keys):
            self._window.tabifyDockWidget(self.docks[before], self.docks[key])
            self.docks[key].show()
        self.docks[keys[0]].raise_()

    def _resize(self, keys: list[str], sizes: list[int], orientation: Qt.Orientation) -> None:
        self._window.resizeDocks([self.docks[key] for key in keys], sizes, orientation)


def _stood_in(widget: QWidget) -> QWidget:
    """A place for the widget, which is hidden while its tab is behind and keeps its room there.

    Qt moves a tab that is behind out of sight and calls it visible: the keyboard's focus would
    go there, and so would every drawing.
    """
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)
    place = QWidget()
    layout = QVBoxLayout(place)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(widget)
    return place
