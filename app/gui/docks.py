"""The window's docks: three pages of them, a default layout for each, and the user's own.

A page is a set of docks with its own saved arrangement, so that at most half a dozen tabs
stand side by side; any dock can be brought to any page from the View menu. A window with little
room for its font has arrangements of its own, in which all stand as tabs over one another.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QVBoxLayout, QWidget

from app.gui.arrangement import arrange, dress_tabs, views_of
from app.gui.look.preferences import LAYOUT_VERSION, Preferences
from app.gui.views import VIEWS, Page

_LEAST_LINES = QSize(62, 42)
"""Room in heights of a line of text: with less the table would take what a plot needs."""
_HOMES: dict[str, Page] = {
    **{view.key: view.page for view in VIEWS},
    **dict.fromkeys(("editor", "welcome", "series", "queue"), "measure"),
}
"""Where a dock is brought to the front; what is in none of them, on whichever page is open."""


class Docks(QObject):
    """Wraps widgets in docks of `window` and arranges them.

    `page_changed` names the page, `placed` says that what is shown was arranged anew.
    """

    page_changed = Signal(str)
    placed = Signal()

    def __init__(self, window: QMainWindow, preferences: Preferences) -> None:
        super().__init__(window)
        self._window, self._preferences = window, preferences
        self.docks: dict[str, QDockWidget] = {}
        self.page: Page = "measure"
        self._was_shown = False
        self.filled = ""
        self._cramped = False
        self._before_filled = QByteArray()
        self._fit = QTimer(self, singleShot=True, interval=0)
        self._fit.timeout.connect(self._arrange_for_room)
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
        dock.setWhatsThis(getattr(widget, "hint", ""))
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
        self._cramped = self._has_little_room()
        self._show_page()
        self.page_changed.emit(self.page)

    def go_to(self, page: Page) -> None:
        """Keep this page's arrangement and show another's."""
        self.unfill()
        if page == self.page:
            return
        self.save()
        self.page = page
        self._show_page()
        self.page_changed.emit(self.page)

    def shown(self) -> None:
        """The window is seen for the first time: an arrangement that was kept is restored now.

        Restored before that, Qt leaves the tab bars of the one before over all else.
        """
        if not self._was_shown:
            self._was_shown = True
            if not self._preferences.layout(self._name).isEmpty():
                self._show_page()

    def save(self) -> None:
        """Remember the present page's arrangement."""
        self._preferences.save_layout(self._name, self._state())

    def reset(self) -> None:
        """Put the present page back to its default arrangement."""
        self.unfill()
        self._arrange()
        self.save()
        self.placed.emit()

    def keep_custom(self) -> None:
        """Keep the present page's arrangement as its custom layout."""
        self._preferences.save_layout(f"{self._name}-custom", self._state())

    def restore_custom(self) -> bool:
        """Bring the custom layout of this page back; False if none was kept."""
        self.unfill()
        state = self._preferences.layout(f"{self._name}-custom")
        return not state.isEmpty() and self._restore(state)

    def room_changed(self) -> None:
        """The window has another size: where that makes the difference, arrange it anew."""
        self._fit.start()

    def fold(self) -> None:
        """Put the editor away: its room is the plots', until it is shown again."""
        if self.page != "measure" or self.filled:
            return
        if self._window.tabifiedDockWidgets(self.docks["editor"]):
            if self.editor_is_seen:
                self.show(views_of("measure")[0])
        else:
            self.docks["editor"].hide()

    @property
    def editor_is_seen(self) -> bool:
        return not self.docks["editor"].visibleRegion().isEmpty()

    def fill(self, key: str) -> None:
        """Give one dock the room of all, until `unfill`."""
        self.unfill()
        self._before_filled = self._window.saveState(LAYOUT_VERSION)
        self.filled = key
        for other, dock in self.docks.items():
            dock.setVisible(other == key)
        self.placed.emit()

    def unfill(self) -> None:
        """Bring all back to where they were."""
        if self.filled:
            self.filled = ""
            self._restore(self._before_filled)

    def show(self, key: str) -> None:
        """Bring a dock to the front, on the page where it is at home."""
        if key != self.filled:
            self.unfill()
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
        self._fit.stop()
        for dock in self.docks.values():
            dock.disconnect(self)

    def _titles_later(self, *_: object) -> None:
        self._titles.start()

    def _dress_titles(self) -> None:
        """A dock among tabs is named by its tab, and dragged by it; others have a title bar."""
        dress_tabs(self._window)
        for dock in self.docks.values():
            bare = not dock.isFloating() and bool(self._window.tabifiedDockWidgets(dock))
            if bare and dock.titleBarWidget() is None:
                dock.setTitleBarWidget(QWidget(dock))
            elif not bare and dock.titleBarWidget() is not None:
                dock.titleBarWidget().deleteLater()
                # None brings Qt's own bar back, as its manual says and its stubs do not.
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]

    @property
    def _name(self) -> str:
        """What the present arrangement is kept as."""
        return f"{self.page}-cramped" if self._cramped else self.page

    def _state(self) -> QByteArray:
        """The arrangement, as it is while no dock has the room of all."""
        return self._before_filled if self.filled else self._window.saveState(LAYOUT_VERSION)

    def _restore(self, state: QByteArray) -> bool:
        done = self._window.restoreState(state, LAYOUT_VERSION)
        self.placed.emit()
        return done

    def _has_little_room(self) -> bool:
        least = _LEAST_LINES * self._window.fontMetrics().height()
        return self._window.width() < least.width() or self._window.height() < least.height()

    def _arrange_for_room(self) -> None:
        if self.filled or self._has_little_room() == self._cramped:
            return
        self.save()
        self._cramped = not self._cramped
        self._show_page()

    def _show_page(self) -> None:
        state = self._preferences.layout(self._name)
        # Some arrangement must be there before Qt can restore another over it.
        self._arrange()
        if self._was_shown and not state.isEmpty():
            self._window.restoreState(state, LAYOUT_VERSION)
        self.placed.emit()

    def _arrange(self) -> None:
        arrange(self._window, self.docks, self.page, self._cramped)


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
