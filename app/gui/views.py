"""Every view of a run as a row of a table, and the bar that brings them to the front.

What a run has no data for is under "+". A place with several plots has a switch between them, and
the controls of the plot in front stand at the end of the bar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.controls import Choice, lay, tool_button
from app.gui.plots.base import PlotView
from app.gui.plots.compare import CompareView, HistoryView
from app.gui.plots.distributions import BoxesView, PercentileView
from app.gui.plots.figure_view import CapabilityView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.matrix import ChecksView, MatrixView
from app.gui.plots.operators import OperatorsView, ScheduleView
from app.gui.plots.ranking import AccuracyView, RankingView
from app.gui.plots.style import Arrangement
from app.gui.plots.summary import SummaryView
from app.gui.plots.timeline import TimelineView
from app.gui.plots.trends import TrendsView
from app.plan.capabilities import named_parts
from app.present.answer import CasesView
from exporters import install_layout

Fed = Literal["", "shown", "all"]
"""`shown`: the cases in flight or selected; `all`: every case; others are fed by themselves."""
ViewT = TypeVar("ViewT", bound=PlotView)


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """A plot of a `place`, and with which series it is fed."""

    key: str
    title: str
    place: str
    fed: Fed
    make: Callable[[], PlotView]


@dataclass(frozen=True, slots=True)
class Place:
    """What stands in the bar of views; one with several plots has a switch between them."""

    key: str
    title: str
    is_usual: bool = True
    """Whether it is offered first, and not among those that only some runs have data for."""

    @property
    def views(self) -> tuple[ViewSpec, ...]:
        return tuple(spec for spec in VIEWS if spec.place == self.key)


_CAPABILITY_VIEWS: dict[str, CasesView] = {
    key: install_layout.load(f"app.{target}")() for key, target in named_parts("view")
}
PLACES: tuple[Place, ...] = (
    Place("summary", "Summary"),
    Place("ranking", "Ranking"),
    Place("distribution", "Distribution"),
    Place("timeline", "Timeline"),
    Place("trends", "Trends"),
    Place("matrix", "Matrix"),
    Place("compare", "Compare"),
    Place("history", "History"),
    Place("inspect", "Inspect"),
    Place("checks", "Check", is_usual=False),
    *(Place(key, view.place, is_usual=False) for key, view in _CAPABILITY_VIEWS.items()),
    Place("accuracy", "Accuracy", is_usual=False),
)

VIEWS: tuple[ViewSpec, ...] = (
    ViewSpec("summary", "Summary", "summary", "all", SummaryView),
    ViewSpec("ranking", "Ranking", "ranking", "all", RankingView),
    ViewSpec("histogram", "Histogram", "distribution", "shown", HistogramView),
    ViewSpec("percentiles", "Percentiles", "distribution", "shown", PercentileView),
    ViewSpec("boxes", "Box plots", "distribution", "shown", BoxesView),
    ViewSpec("timeline", "Timeline", "timeline", "shown", TimelineView),
    ViewSpec("trends", "Trends", "trends", "all", TrendsView),
    ViewSpec("matrix", "Matrix", "matrix", "all", MatrixView),
    ViewSpec("compare", "Compare", "compare", "", CompareView),
    ViewSpec("history", "History", "history", "", HistoryView),
    ViewSpec("operators", "Operators", "inspect", "", OperatorsView),
    ViewSpec("schedule", "FPGA schedule", "inspect", "", ScheduleView),
    ViewSpec("checks", "Check", "checks", "all", ChecksView),
    *(
        ViewSpec(key, view.title, key, "all", partial(CapabilityView, view))
        for key, view in _CAPABILITY_VIEWS.items()
    ),
    ViewSpec("accuracy", "Accuracy", "accuracy", "all", AccuracyView),
)


class Views:
    """The views of one window: all of them by key, and again by what each is fed."""

    def __init__(self) -> None:
        self.by_key = {spec.key: spec.make() for spec in VIEWS}
        self.shown, self.all = (
            [self.by_key[spec.key] for spec in VIEWS if spec.fed == how] for how in ("shown", "all")
        )
        self.compare, self.history = self._one(CompareView), self._one(HistoryView)
        self.operators, self.schedule = self._one(OperatorsView), self._one(ScheduleView)

    def _one(self, kind: type[ViewT]) -> ViewT:
        return next(view for view in self.by_key.values() if isinstance(view, kind))

    def arrange(self, how: Arrangement) -> None:
        """Show the series of the cases in flight or selected so, in every view that has them."""
        for view in (*self.shown, *self.all):
            view.arrange(how)


_LEAST_CONTROLS_LINES = 9
"""The least width of the controls in heights of a line of text: Fit, and the way to the rest."""
_AROUND_PX = 36
"""Margins and spacing of the bar."""
_PLACE_OF = {spec.key: spec.place for spec in VIEWS}


class PlaceWidget(QWidget):
    """The plots of a place, one at a time; `plot` is the key of the one in front."""

    def __init__(self, place: Place, views: Views) -> None:
        super().__init__()
        self.place = place
        self.plots = {spec.key: views.by_key[spec.key] for spec in place.views}
        self.plot = next(iter(self.plots))
        self.setAccessibleName(place.title)
        self._stack = QStackedWidget()
        self.bars = QStackedWidget()
        for plot in self.plots.values():
            self._stack.addWidget(plot)
            self.bars.addWidget(plot.take_bar())
        lay(QVBoxLayout(self), self._stack)
        titles = {spec.key: spec.title for spec in place.views}
        self.switch = Choice(f"{place.title}: plot", titles, "Chooses which plot is shown.")
        self.switch.activated.connect(lambda: self.show_plot(self.switch.value))

    @property
    def has_data(self) -> bool:
        """Whether any of its plots has something to show in this run."""
        return any(plot.offers() for plot in self.plots.values())

    def show_plot(self, key: str) -> None:
        """Bring one of its plots to the front."""
        self.plot = key
        place = list(self.plots).index(key)
        self._stack.setCurrentIndex(place)
        self.bars.setCurrentIndex(place)
        self.switch.choose(key)


class ViewArea(QWidget):
    """`shown` names the place that came to the front."""

    shown = Signal(str)

    def __init__(self, views: Views, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("views")
        self.places = {place.key: PlaceWidget(place, views) for place in PLACES}
        self._keys: list[str] = []
        self._requested_place = ""
        self._stamp: object = None
        self.bar = QTabBar()
        self.bar.setAccessibleName("views of the run")
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(False)
        self.bar.setElideMode(Qt.TextElideMode.ElideNone)
        self.plus = tool_button(
            "+", "more views", "Views that this run has no data for yet, or that have no room here."
        )
        self.plus.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.plus.setMenu(QMenu(self.plus))
        self._stack, self._switches, self._bars = (QStackedWidget() for _ in range(3))
        for place in self.places.values():
            self._stack.addWidget(place)
            self._switches.addWidget(place.switch)
            self._bars.addWidget(place.bars)
        self._lay_out()
        self.bar.currentChanged.connect(self._tab_changed)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self.update_places)
        for view in views.by_key.values():
            view.stale.connect(self._update_later)
        self.update_places()

    def _lay_out(self) -> None:
        self.head = QWidget()
        row = lay(QHBoxLayout(self.head), self.bar, self.plus, margins=(4, 0, 4, 0), spacing=6)
        row.addWidget(self._switches, 0, Qt.AlignmentFlag.AlignVCenter)
        self._bars.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._bars.setMinimumWidth(_LEAST_CONTROLS_LINES * self.fontMetrics().height())
        row.addWidget(self._bars, 1)
        lay(QVBoxLayout(self), self.head, (self._stack, 1), spacing=0)

    @property
    def current(self) -> str:
        """The key of the place in front."""
        return self._keys[self.bar.currentIndex()]

    def has(self, key: str) -> bool:
        """Whether a place or a plot is called so."""
        return key in self.places or key in _PLACE_OF

    @property
    def plot(self) -> str:
        """The key of the plot in front."""
        return self.places[self.current].plot

    def show_view(self, key: str) -> None:
        """Bring a place, or one of its plots, to the front."""
        place = _PLACE_OF.get(key, key)
        if key in self.places[place].plots:
            self.places[place].show_plot(key)
        self._requested_place = place
        self.update_places()
        self.bar.setCurrentIndex(self._keys.index(place))
        self._bring(place)

    def update_places(self) -> None:
        """Have in the bar what this run has data for, and what was asked for, as far as it fits."""
        current_key = self._requested_place or (self.current if self._keys else "")
        places = [key for key, place in self.places.items() if self._is_named(place, current_key)]
        stamp = (places, current_key, self.width())
        if stamp != self._stamp:
            self._stamp = stamp
            self._name(places, current_key)
            self._fit(places, current_key)

    def _fit(self, texts: list[str], text: str) -> None:
        """Leave the last tabs to "+", until the rest has room."""
        widths = [self.bar.tabRect(place).width() for place in range(self.bar.count())]
        used_width = self.plus.sizeHint().width() + self._bars.minimumWidth() + _AROUND_PX
        switch = max(place.switch.sizeHint().width() for place in self.places.values())
        room = self.width() - used_width - switch
        fitting = list(texts)
        while sum(widths) > room and len(fitting) > 1:
            last = next(key for key in reversed(fitting) if key != text)
            del widths[fitting.index(last)]
            fitting.remove(last)
        if fitting != texts:
            self._name(fitting, text)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self.update_places()

    def _is_named(self, place: PlaceWidget, text: str) -> bool:
        return (
            place.place.key == text or place.has_data or (not self._keys and place.place.is_usual)
        )

    def _name(self, texts: list[str], text: str) -> None:
        self.bar.blockSignals(True)
        while self.bar.count():
            self.bar.removeTab(0)
        self._keys = texts
        for key in texts:
            self.bar.setTabToolTip(self.bar.addTab(self.places[key].place.title), _hint(self, key))
        if text in texts:
            self.bar.setCurrentIndex(texts.index(text))
        self.bar.blockSignals(False)
        menu = self.plus.menu()
        menu.clear()
        for key, place in self.places.items():
            if key not in texts:
                action = QAction(place.place.title, menu)
                action.triggered.connect(partial(self._on_choice, key))
                menu.addAction(action)
        self.plus.setVisible(not menu.isEmpty())
        self._bring(self.current)

    def _on_choice(self, key: str, *_: object) -> None:
        self.show_view(key)

    def _tab_changed(self, place: int) -> None:
        if place >= 0:
            self._requested_place = self._keys[place]
            self._bring(self._requested_place)

    def _bring(self, key: str) -> None:
        place = self.places[key]
        widget_before = self._stack.currentWidget()
        self._stack.setCurrentWidget(place)
        self._switches.setCurrentWidget(place.switch)
        self._switches.setVisible(len(place.plots) > 1)
        self._bars.setCurrentWidget(place.bars)
        if widget_before is not place:
            self.shown.emit(key)

    def _update_later(self) -> None:
        if not self._later.isActive():
            self._later.start()


def _hint(area: ViewArea, key: str) -> str:
    return next(iter(area.places[key].plots.values())).hint
