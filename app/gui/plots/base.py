"""What all plots share: heading, legend, controls, theme, series of a page and lazy redrawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import ClassVar, TypeVar

import pyqtgraph as pg
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QColor, QGuiApplication, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QGraphicsScene,
    QHBoxLayout,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app.analysis.plot_data.series import Series
from app.formatting.case_labels import shared_and_distinct
from app.gui.look.controls import Choice, ControlBar, Switch, lay, tool_button
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.text import PlainLabel, Table
from app.gui.look.theme import LIGHT, Theme
from app.gui.plots.axes import SolidAxis
from app.gui.plots.legend import Entry, Heading, Legend
from app.gui.plots.read.crosshair import Crosshair
from app.gui.plots.read.reading import Brush, Line, Lit, Reader, Reading
from app.gui.plots.read.readout import brush_text, lit_in_short, lit_text, short_names
from app.gui.plots.style import Arrangement, SeriesStyle

LayerT = TypeVar("LayerT", bound=Overlay)
_UNBOUNDED_PX = 2.0**24 - 1.0
"""Qt's own word for it, QWIDGETSIZE_MAX."""
_ALL_HIDDEN = "Every series is hidden. A check mark in the series list shows one again."


class PlotView(QWidget):
    """A titled plot of `series`, in their order. Subclasses give `draw`, `table`, and `reset` if
    they keep items.

    `draw` puts its plots into `self.body` and returns "", or says in one sentence what is
    missing. `title` names the view in docks and menus, `hint` explains it in a sentence. What a
    plot reads is said by `let_read`, what a marked range means by `brush_between`; `draw_lit` draws
    the samples that are marked, which are the same in all views of a window.
    """

    title: str
    hint: str
    tells_apart: ClassVar[bool] = False
    """Its series go by what sets them apart, and its heading says what they share."""
    takes_rounds: ClassVar[bool] = False
    """It judges by the rounds of every case, which are read once somebody looks at it."""
    reads_at_left: ClassVar[bool] = False
    """The readout stands in the upper left corner, where this view has the least to show."""
    stale = Signal()
    """There is something to draw, or somebody looks at it now: the next beat is to come."""
    picked = Signal(tuple, bool)
    """The keys of cases that were clicked, and whether they are added to those selected."""
    opened = Signal(str)
    """The key of a case that was double-clicked: its iterations are asked for."""
    brushed = Signal(object)
    """The Brush of what was marked, None for nothing any more."""
    nothing_dropped = Signal()
    """Escape was pressed, and nothing was read or marked that it could drop."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.series: tuple[Series, ...] = ()
        self.lit: Lit | None = None
        self.lit_stale = False
        self.menu_actions: list[QAction] = []
        """What whoever owns the view offers beside in its context menu."""
        self.theme = LIGHT
        self.arrangement = Arrangement()
        self._all_series: tuple[Series, ...] = ()
        self._shared_text, self._display_names = "", dict[str, str]()
        self._part = ""
        self.plots: list[pg.PlotItem] = []
        self._layers: list[Overlay] = []
        self.follows = True
        self._dirty = True
        self._structure: tuple[object, ...] | None = None
        self.setAccessibleName(self.title)

        self.controls = ControlBar(self.title)
        self.fit_button = tool_button(
            "Fit",
            f"{self.title}: show all data",
            "Show all data again after zooming or panning (Ctrl+0).",
        )
        self.fit_button.clicked.connect(self.fit)
        self._bar = QWidget()
        row = lay(QHBoxLayout(self._bar), (self.controls, 1), margins=(8, 2, 8, 2))
        row.addWidget(self.fit_button, 0, Qt.AlignmentFlag.AlignTop)
        self._add_keys()

        self.canvas = pg.GraphicsLayoutWidget()
        # An index of places is wrong as soon as an item changes its bounds before it says so, as
        # an axis with a grid does when its plot is resized: Qt would paint what is deleted.
        self.canvas.scene().setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self.canvas.setAccessibleName(f"{self.title} plot")
        self.canvas.setAccessibleDescription(self.hint)
        self.canvas.setFrameStyle(0)
        self.heading, self.legend = Heading(), Legend()
        rows = self.canvas.ci
        # Else it is never higher than few rows let it be, nor grows again with more of them.
        rows.setMaximumHeight(_UNBOUNDED_PX)
        rows.layout.setContentsMargins(8, 8, 14, 8)
        rows.layout.setVerticalSpacing(4)
        rows.addItem(self.heading, row=0, col=0)
        rows.addItem(self.legend, row=1, col=0)
        rows.geometryChanged.connect(self.legend.fit)
        self.body = rows.addLayout(row=2, col=0)
        self.body.layout.setSpacing(8)
        rows.layout.setRowStretchFactor(2, 1)

        self.crosshair = Crosshair(self.canvas, self.title, at_left=self.reads_at_left)
        self.crosshair.picked.connect(self.picked)
        self.crosshair.opened.connect(self._open)
        self.crosshair.marked.connect(self._mark)
        self.crosshair.hands.menu_asked.connect(self._show_menu)
        self.crosshair.scrolled.connect(self._stop_following)

        self._missing = PlainLabel(parent=self.canvas, wrap=True)
        self._missing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._missing.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        lay(QVBoxLayout(self.canvas), self._missing, margins=(40, 0, 40, 0))
        framed = self._framed(self.canvas)
        self._column = lay(QVBoxLayout(self), self._bar, (framed, 1), spacing=0)
        self._dress()

    def set_series(self, series: Sequence[Series]) -> None:
        """Show these; drawn at the next `refresh`."""
        self._all_series = tuple(series)
        self._shared_text, self._display_names = shared_and_distinct(
            {case_series.key: case_series.label for case_series in series}
        )
        self.series = self.arrangement.drawn(self._all_series)
        self.mark_dirty()

    def arrange(self, how: Arrangement) -> None:
        """Show the series so from now on."""
        if how != self.arrangement:
            self.arrangement = how
            self.series = how.drawn(self._all_series)
            self.mark_dirty()

    def styles(self, *, fading: bool = True) -> dict[str, SeriesStyle]:
        """How each series looks, by key; with `fading`, those that are not lit are faded."""
        how = self.arrangement if fading else replace(self.arrangement, lit=None)
        return how.styles(self._all_series, self.theme)

    def name_of(self, series: Series) -> str:
        """What sets it apart from the others that are shown; what they share is in the heading."""
        return self._display_names.get(series.key, series.label)

    def offers(self) -> bool:
        """Whether there is something to draw in this run."""
        return bool(self._all_series)

    def _add_keys(self) -> None:
        """What the mouse can do, for the keyboard: zoom, move, show all."""
        steps = {"Left": (-0.2, 0.0), "Right": (0.2, 0.0), "Up": (0.0, 0.2), "Down": (0.0, -0.2)}
        keys: dict[str, Callable[[], None]] = {
            f"Ctrl+{key}": partial(self._move, *step) for key, step in steps.items()
        }
        keys |= {"Ctrl++": partial(self._zoom, 0.8), "Ctrl+=": partial(self._zoom, 0.8)}
        keys |= {"Ctrl+-": partial(self._zoom, 1.25), "Ctrl+0": self.fit}
        keys |= {"Ctrl+C": self.copy_readout, "Esc": self.drop_readout}
        for key, act in keys.items():
            shortcut = QShortcut(QKeySequence(key), self, act)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def _zoom(self, factor: float) -> None:
        for plot in self.plots[:1]:
            self.follows = False
            plot.getViewBox().scaleBy((factor, factor))

    def _move(self, right: float, up: float) -> None:
        for plot in self.plots[:1]:
            self.follows = False
            (left, far), (low, high) = plot.viewRange()
            down = -1.0 if plot.getViewBox().yInverted() else 1.0
            plot.getViewBox().translateBy(x=right * (far - left), y=down * up * (high - low))

    def _framed(self, canvas: QWidget) -> QWidget:
        """What stands in the view for the canvas; views that scroll wrap it."""
        return canvas

    def add_controls(self, *controls: Choice | Switch) -> None:
        """Put a view's own controls before the shared ones; changing one redraws."""
        for control in controls:
            if isinstance(control, Choice):
                control.currentIndexChanged.connect(self._option_changed)
            else:
                control.toggled.connect(self._option_changed)
            self.controls.add(control)

    def take_bar(self) -> QWidget:
        """The line of its controls, for whoever has a better place for it than above the plot."""
        self._column.removeWidget(self._bar)
        return self._bar

    def _option_changed(self, *_: object) -> None:
        self.mark_dirty()
        self.refresh()

    def draw(self) -> str:
        raise NotImplementedError

    def table(self) -> Table:
        """What is shown, as numbers."""
        raise NotImplementedError

    def reset(self) -> None:
        """Drop all plots; the next `draw` makes them anew."""
        self.crosshair.clear()
        self.body.clear()
        self.plots = []
        self._layers = []
        self._structure = None

    def renew(self, *structure: object) -> bool:
        """Drop all plots if what they are built for is not this; False if they can be kept.

        Building axes and plots costs several times what new data in them does.
        """
        if structure == self._structure:
            return False
        self.reset()
        self._structure = structure
        return True

    def kept_range(self) -> tuple[list[float], list[float]] | None:
        """What the first plot shows, if somebody chose it by zooming or moving."""
        return None if self.follows or not self.plots else self.plots[0].viewRange()

    def show_part(self, part: str) -> None:
        """Say in the heading which part of the cases is shown; "" for all of them."""
        if part != self._part:
            self._part = part
            self.mark_dirty()

    @property
    def is_in_sight(self) -> bool:
        """Whether somebody sees it: of the view itself its canvas leaves nothing to be seen."""
        return self.isVisible() and not self.canvas.viewport().visibleRegion().isEmpty()

    def mark_dirty(self) -> None:
        self._dirty = True
        self.stale.emit()

    def refresh(self) -> None:
        """Draw if something changed since the last time and somebody can see it."""
        if self._dirty and self.isVisible():
            self.draw_now()
        elif self.lit_stale and self.isVisible():
            self.light_up()

    def draw_now(self) -> None:
        """Draw, seen or not."""
        self._dirty = False
        missing = _ALL_HIDDEN if self._all_series and not self.series else self.draw()
        if missing:
            self.show_heading("")
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))
        if missing:
            self.reset()
            self.legend.set_entries([], self.theme)
        self.light_up()
        self.crosshair.renew()

    def apply_theme(self, theme: Theme) -> None:
        """Take over the theme's colours; everything is drawn anew."""
        self.theme = theme
        self._dress()
        self.reset()
        self.mark_dirty()
        self.refresh()

    def _dress(self) -> None:
        self.canvas.setBackground(self.theme.base)
        self.crosshair.apply_theme(self.theme)
        self._missing.setStyleSheet(f"color: {self.theme.muted}; background: transparent;")

    def fit(self) -> None:
        """Show all data, and follow it as it grows."""
        self.follows = True
        self.mark_dirty()
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self.refresh()
        self.stale.emit()

    def add_plot(
        self,
        row: int,
        col: int,
        bottom: SolidAxis | None = None,
        left: SolidAxis | None = None,
        *,
        x_label: str = "",
        y_label: str = "",
        name: str = "",
    ) -> pg.PlotItem:
        """A plot of the body in the theme's colours, with our axes and no menu of its own."""
        axes = {"bottom": bottom or SolidAxis("bottom"), "left": left or SolidAxis("left")}
        plot = self.body.addPlot(row=row, col=col, axisItems=axes)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.showGrid(x=True, y=True, alpha=0.35)
        if name:
            size = f"{plot_font().pointSizeF():.1f}pt"
            plot.setTitle(escape(name), color=self.theme.text, size=size)
        for side, label in (("bottom", x_label), ("left", y_label)):
            axis = axes[side]
            axis.setPen(QColor(self.theme.grid))
            axis.setTextPen(QColor(self.theme.muted))
            axis.setTickFont(plot_font(-1.0))
            axis.ground = QColor(self.theme.base)
            axis.setZValue(-100)
            if label:
                axis.setLabel(escape(label), color=self.theme.muted)
        plot.getViewBox().sigRangeChangedManually.connect(self._stop_following)
        self.plots.append(plot)
        return plot

    def lay(self, layer: LayerT) -> LayerT:
        """Keep a painted layer for as long as its plot: Qt alone does not."""
        self._layers.append(layer)
        return layer

    def _stop_following(self, *_: object) -> None:
        self.follows = False

    def show_legend(self, entries: Sequence[Entry]) -> None:
        has_list = self.arrangement.listed
        visible_entries = [entry for entry in entries if not (has_list and entry.of_series)]
        self.legend.set_entries(visible_entries, self.theme)

    def show_heading(self, title: str, note: str = "") -> None:
        parts = (self._part, self._shared_text if self.tells_apart else "") if title else ()
        text = "; ".join(filter(None, (*parts, note)))
        self.heading.set_text(title, text, self.theme)

    def let_read(self, plot: pg.PlotItem, reader: Reader) -> None:
        """What the crosshair is to read in this plot; to be said anew with other data."""
        self.crosshair.let_read(plot, reader)

    def show_selected(self, keys: Sequence[str]) -> None:
        """Frame the marks of the cases that are selected in the table."""
        self.crosshair.frame(frozenset(keys))

    def show_brush(self, brush: Lit | None) -> None:
        """Light up the samples that are marked; None for nothing any more."""
        self.lit = brush
        self.lit_stale = True
        self.stale.emit()

    def light_up(self) -> None:
        self.lit_stale = False
        self.draw_lit()
        self.crosshair.tell(self._marked_lines())

    def draw_lit(self) -> None:
        """Draw what `self.lit` has of the series, or nothing; in views that can."""

    def brush_between(self, plot: pg.PlotItem, low: float, high: float) -> Brush | None:
        """What is marked from one x to another of a plot; None in views without samples."""
        return None

    def _mark(self, plot: pg.PlotItem, low: float, high: float, let_go: bool) -> None:
        brush = self.brush_between(plot, low, high)
        if brush is not None:
            self.brushed.emit(brush)

    def _marked_lines(self) -> list[Line]:
        """What is said of the marked samples of each case; nothing of those without samples."""
        if self.lit is None:
            return []
        series = [case_series for case_series in self.series if any(map(len, case_series.rounds))]
        pairs = [
            (case_series, highlight)
            for case_series in series
            if (highlight := self.lit.of(case_series)).samples
        ]
        head = Line(f"Marked: {brush_text(self.lit.brush)}")
        if len(pairs) == 1:
            (case_series, highlight), *_ = pairs
            prefix = f"{case_series.label}: " if len(series) > 1 else ""
            return [head, Line(f"{prefix}{lit_text(highlight)}")]
        names = short_names([case_series.label for case_series, _ in pairs])
        named_pairs = zip(names, pairs, strict=True)
        return [
            head,
            *(Line(f"{name}: {lit_in_short(highlight)}") for name, (_, highlight) in named_pairs),
        ]

    def _open(self, reading: Reading) -> None:
        if reading.opens is not None:
            self.brushed.emit(reading.opens)
        self.opened.emit(reading.keys[0])

    def copy_readout(self) -> None:
        """What the box says, as text; what was copied before stays if it says nothing."""
        if self.crosshair.box.plain:
            QGuiApplication.clipboard().setText(self.crosshair.box.plain)

    def drop_readout(self) -> None:
        """Unpin what is read, and drop the marked range."""
        if not self.crosshair.box.plain and self.lit is None:
            self.nothing_dropped.emit()
        self.crosshair.forget()
        if self.lit is not None:
            self.brushed.emit(None)

    def _show_menu(self, point: QPoint) -> None:
        """What can be done with what is read and what is marked, then what the view offers."""
        menu = QMenu(self)
        copy = menu.addAction("Copy &readout", self.copy_readout)
        copy.setEnabled(bool(self.crosshair.box.plain))
        drop = menu.addAction("&Drop the marked range", self.drop_readout)
        drop.setEnabled(self.lit is not None)
        menu.addSeparator()
        menu.addActions(self.menu_actions)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.canvas.viewport().mapToGlobal(point))
