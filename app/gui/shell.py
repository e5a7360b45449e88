"""The frame of the window: the header, and below it the start page, the run or the composer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMenu,
    QMenuBar,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.controls import lay, named, tool_button
from app.gui.look.preferences import Preferences
from app.gui.look.text import Line, caption, plain_tip
from app.gui.views import ViewArea

BUTTONS = ("find", "new", "run", "pause", "stop")
_ICON = QSize(16, 16)
_NO_RUN = "No run"
_ICONS_ONLY = ("find",)
_LEAST_NAME_PX = 60


class Header(QWidget):
    """`menu_bar` holds the menus; a badge and the buttons are added once they are made. `inputs`
    says what was assumed of the run's inputs and what files its models were fed with."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("header")
        self.menu_bar = QMenuBar()
        self.menu_bar.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.run_name = tool_button(_NO_RUN, "open run", "")
        self.run_name.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.run_name.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.run_name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.buttons: dict[str, QToolButton] = {}
        self._name = ""
        self._badge: QToolButton | None = None
        self._last_need: object = None
        self.inputs = named(Line(), "inputs of the run")
        self.inputs.setContentsMargins(10, 0, 10, 3)
        self.inputs.hide()
        self._row = QHBoxLayout()
        lay(self._row, self.menu_bar, self.run_name, 1, margins=(4, 2, 6, 2), spacing=4)
        lay(QVBoxLayout(self), self._row, self.inputs, spacing=0)

    def add_badge(self, badge: QToolButton) -> None:
        """What is wrong with the run, right of its name; only its icon where words have no room."""
        self._badge = badge
        badge.setIconSize(_ICON)
        self._row.insertWidget(self._row.indexOf(self.run_name) + 1, badge)

    def add_buttons(self, actions: Mapping[str, QAction], recent: QMenu) -> None:
        """The actions that are used most; `recent` opens below the run's name."""
        self.run_name.setMenu(recent)
        for key in BUTTONS:
            button = named(QToolButton(), actions[key].text().replace("&", "").rstrip("…"))
            button.setDefaultAction(actions[key])
            button.setIconSize(_ICON)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._row.addWidget(button)
            self.buttons[key] = button
        self._fit()

    def show_run(self, name: str) -> None:
        """The name of the open run; "" where none is open."""
        self._name = name
        self.run_name.setToolTip(plain_tip(name) if name else "Open one of the runs before")
        self._fit()

    def show_inputs(self, lines: Sequence[str]) -> None:
        """What the open run was measured with, whole in the tip; [] where nothing is to be said."""
        self.inputs.say("; ".join(lines), "\n".join(lines))
        self.inputs.setVisible(bool(lines))

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
        widgets = [*self.buttons.values(), *filter(None, (self._badge,))]
        texts = tuple((widget.text(), widget.isHidden()) for widget in widgets)
        need = (self.width(), self._name, texts, self.font().key())
        if need == self._last_need:
            return
        self._last_need = need
        style = Qt.ToolButtonStyle
        for key, button in self.buttons.items():
            has_text = key not in _ICONS_ONLY
            button.setToolButtonStyle(
                style.ToolButtonTextBesideIcon if has_text else style.ToolButtonIconOnly
            )
        if self._badge is not None:
            self._badge.setToolButtonStyle(style.ToolButtonTextOnly)
        self.run_name.setText(self._shorten_name(_LEAST_NAME_PX))
        for widget in widgets:
            if self._needed_width() > self.width():
                widget.setToolButtonStyle(style.ToolButtonIconOnly)
        spare = self.width() - self._needed_width()
        self.run_name.setText(self._shorten_name(_LEAST_NAME_PX + max(0, spare)))

    def _needed_width(self) -> int:
        self._row.invalidate()  # Qt does so for the outer layout alone
        return self._row.sizeHint().width()

    def _shorten_name(self, width: int) -> str:
        middle = Qt.TextElideMode.ElideMiddle
        return caption(self.run_name.fontMetrics().elidedText(self._name or _NO_RUN, middle, width))


START, WORK, COMPOSER, SERIES = "welcome", "work", "editor", "series"
_LEAST_LINES = 42
"""A window lower than so many lines of text has its details folded, unless they are asked for."""
_LEAST_COLUMNS = 48
"""One narrower than so many heights of a line has its list of cases folded likewise."""
_CASES_LINES = 17
"""The width of the list of cases in heights of a line of text."""
_DETAILS_SHARE = 0.28


class Frame(QWidget):
    """`show_key` brings anything to the front by its key; `placed` says that panes have changed,
    `editing` whether the composer is in front."""

    placed = Signal()
    editing = Signal(bool)

    def __init__(self, header: Header, preferences: Preferences) -> None:
        super().__init__()
        self.header = header
        self._preferences = preferences
        self.filled = False
        self._area: ViewArea | None = None
        self._pane_choices: dict[str, bool | None] = {"cases": None, "details": None}
        self.cases = QWidget()
        self.details = QTabWidget(documentMode=True)
        self.details.tabBar().setAccessibleName("details, queue and log")
        self._lower: dict[str, QWidget] = {}
        self._down = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        self._main_splitter = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        for splitter in (self._down, self._main_splitter):
            splitter.setHandleWidth(1)
        self._pages: dict[str, QWidget] = {}
        self._stack = QStackedWidget()
        lay(QVBoxLayout(self), header, (self._stack, 1), spacing=0)

    def fill_in(
        self,
        start: QWidget,
        composer: QWidget,
        cases: QWidget,
        area: ViewArea,
        lower: Mapping[str, tuple[str, QWidget]],
    ) -> None:
        self.cases, self._area = cases, area
        for key, (title, widget) in lower.items():
            self._lower[key] = widget
            self.details.addTab(widget, title)
        self._down.addWidget(area)
        self._down.addWidget(self.details)
        self._main_splitter.addWidget(cases)
        self._main_splitter.addWidget(self._down)
        self._main_splitter.setStretchFactor(1, 1)
        self._down.setStretchFactor(0, 1)
        for key, page in ((START, start), (WORK, self._main_splitter), (COMPOSER, composer)):
            self._pages[key] = page
            self._stack.addWidget(page)
        self._panes = (self.header, start, composer, cases, area, self.details)
        self.reset()
        self._restore()

    @property
    def page(self) -> str:
        """Which of start page, open run and composer is in front."""
        return next(key for key, page in self._pages.items() if page is self._stack.currentWidget())

    @property
    def current(self) -> str:
        """The key of the view in front."""
        return self._area.current if self._area else ""

    def show_key(self, key: str) -> None:
        """Bring a page, a view, a tab of the details or the list of cases to the front."""
        if key in self._pages:
            self._show_page(key)
            return
        self._show_page(WORK)
        if key == SERIES:
            self._fold("cases", False)
        elif key in self._lower:
            self._fold("details", False)
            self.details.setCurrentWidget(self._lower[key])
        elif self._area is not None and self._area.has(key):
            self._area.show_view(key)

    def show_run(self) -> None:
        """Show the open run, whatever was in front."""
        self._show_page(WORK)

    @Slot()
    def toggle_composer(self) -> None:
        self.show_key(self._last_page if self.page == COMPOSER else COMPOSER)

    @Slot()
    def toggle_cases(self) -> None:
        if self.page != WORK:
            self._show_page(WORK)
        self._fold("cases", not self.cases.isHidden())

    @Slot()
    def toggle_details(self) -> None:
        if self.page != WORK:
            self._show_page(WORK)
        self._fold("details", not self.details.isHidden())

    def fill(self) -> None:
        """Give the view in front the room of all, until `unfill`."""
        self._show_page(WORK)
        self.filled = True
        self._arrange()

    def unfill(self) -> None:
        if self.filled:
            self.filled = False
            self._arrange()

    @Slot()
    def reset(self) -> None:
        """The panes as they are at first."""
        self.filled = False
        self._pane_choices = {"cases": None, "details": None}
        line = self.fontMetrics().height()
        self._main_splitter.setSizes(
            [_CASES_LINES * line, max(1, self.width() - _CASES_LINES * line)]
        )
        lower = round(_DETAILS_SHARE * self.height())
        self._down.setSizes([max(1, self.height() - lower), lower])
        self._arrange()

    def save(self) -> None:
        """Remember panes and their sizes."""
        self._preferences.save_layout("across", self._main_splitter.saveState())
        self._preferences.save_layout("down", self._down.saveState())
        pane_texts = {
            key: "" if on is None else str(int(on)) for key, on in self._pane_choices.items()
        }
        plot = self._area.plot if self._area else ""
        self._preferences.panes = {**pane_texts, "view": plot}

    def leave(self) -> bool:
        """What Escape does where nothing inside had a use for it; whether there was anything."""
        if self.filled:
            self.unfill()
        elif self.page == COMPOSER:
            self._show_page(self._last_page)
        else:
            return False
        return True

    @Slot()
    def next_pane(self) -> None:
        self._move_focus(1)

    @Slot()
    def previous_pane(self) -> None:
        self._move_focus(-1)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._pages:
            self._arrange()

    _last_page = START
    """What was in front before the composer."""

    def _show_page(self, key: str) -> None:
        page = self.page
        if key == page:
            return
        if page != COMPOSER:
            self._last_page = page
        if key != WORK:
            self.filled = False
        self._stack.setCurrentWidget(self._pages[key])
        self._arrange()
        self.placed.emit()
        self.editing.emit(key == COMPOSER)

    def _fold(self, pane: str, folded: bool) -> None:
        self.filled = False
        self._pane_choices[pane] = not folded
        self._arrange()

    def _arrange(self) -> None:
        """Show the panes that are wanted and have room."""
        line = self.fontMetrics().height()
        room = {
            "cases": self.width() >= _LEAST_COLUMNS * line,
            "details": self.height() >= _LEAST_LINES * line,
        }
        visibility = {
            key: room[key] if on is None else on for key, on in self._pane_choices.items()
        }
        pane_states = (
            (self.header, True),
            (self.cases, visibility["cases"]),
            (self.details, visibility["details"]),
        )
        hidden_before = [pane.isHidden() for pane, _ in pane_states]
        for pane, is_wanted in pane_states:
            pane.setVisible(is_wanted and not self.filled)
        if hidden_before != [pane.isHidden() for pane, _ in pane_states]:
            self.placed.emit()

    def _restore(self) -> None:
        panes = self._preferences.panes
        for key in self._pane_choices:
            if panes.get(key):
                self._pane_choices[key] = panes[key] == "1"
        self._main_splitter.restoreState(self._preferences.layout("across"))
        self._down.restoreState(self._preferences.layout("down"))
        if self._area is not None and self._area.has(panes.get("view", "")):
            self._area.show_view(panes["view"])
        self._arrange()

    def _pane_of(self, widget: QWidget | None) -> QWidget | None:
        if widget is None:
            return None
        holders = (pane for pane in self._panes if pane is widget or pane.isAncestorOf(widget))
        return next(holders, None)

    def _move_focus(self, step: int) -> None:
        """To the first control of the next pane that is seen."""
        panes = [pane for pane in self._panes if pane.isVisible() and _first(pane) is not None]
        if not panes:
            return
        pane = self._pane_of(QApplication.focusWidget())
        place = panes.index(pane) + step if pane in panes else 0
        target = _first(panes[place % len(panes)])
        if target is not None:
            target.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _first(pane: QWidget) -> QWidget | None:
    """The widget of the pane that the keyboard reaches first."""
    if _takes_focus(pane):
        return pane
    return next((child for child in pane.findChildren(QWidget) if _takes_focus(child)), None)


def _takes_focus(widget: QWidget) -> bool:
    tab = Qt.FocusPolicy.TabFocus
    takes = (widget.focusPolicy() & tab) == tab and widget.focusProxy() is None
    return takes and widget.isVisible() and widget.isEnabled()
