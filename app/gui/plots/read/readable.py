"""What makes a view readable: its crosshair, the range that is marked, and its context menu.

The samples that are marked are the same in all views of a window; whoever owns the views hands
them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyqtgraph as pg
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QGraphicsView, QMenu, QWidget

from app.gui.plots.read.crosshair import Crosshair
from app.gui.plots.read.lit import Lit
from app.gui.plots.read.reading import Brush, Line, Reader, Reading
from app.gui.plots.read.readout import brush_text, lit_in_short, lit_text, short_names
from app.plot_data.series import Series


class ReadableView(QWidget):
    """Subclasses draw `self.lit`, and say what a plot reads and what a marked range means."""

    title: ClassVar[str]
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

    def make_readable(self, canvas: QGraphicsView) -> None:
        """Read what is drawn on this canvas."""
        self._canvas = canvas
        self.crosshair = Crosshair(canvas, self.title, at_left=self.reads_at_left)
        self.crosshair.picked.connect(self.picked)
        self.crosshair.opened.connect(self._open)
        self.crosshair.marked.connect(self._mark)
        self.crosshair.hands.menu_asked.connect(self._show_menu)

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
        menu.popup(self._canvas.viewport().mapToGlobal(point))
