"""The crosshair of a view: follows mouse and keys, is pinned by a click, shows its reading."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QGraphicsView

from app.gui.look.theme import LIGHT, Theme
from app.gui.plots.read.overlays import ChosenLayer, CrossLayer
from app.gui.plots.read.reading import (
    Line,
    Reader,
    Reading,
    Spot,
    SpotReader,
    bring,
    column,
    coordinates,
    middle,
    place,
    room,
)
from app.gui.plots.read.readout import Readout

_STEPS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, 1),
    Qt.Key.Key_Down: (0, -1),
}
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Hands(QObject):
    """Positions are pixels of the canvas' viewport."""

    moved = Signal(QPoint)
    left = Signal()
    clicked = Signal(QPoint, bool)
    """Where, and whether Ctrl was held."""
    double_clicked = Signal(QPoint)
    marked = Signal(QPoint, QPoint, bool)
    """From where to where with Shift held, and whether the button was let go."""
    stepped = Signal(int, int)
    """So many places to the right and up."""
    menu_asked = Signal(QPoint)
    entered = Signal()
    """The Enter key: what a click does, where the crosshair stands."""
    stretched = Signal(int)
    """The same to the right with Shift held: what lies between is marked."""

    def __init__(self, canvas: QGraphicsView) -> None:
        super().__init__(canvas)
        self._canvas, self._viewport = canvas, canvas.viewport()
        self._press_point: QPoint | None = None
        self._button = Qt.MouseButton.NoButton
        self._marking = False
        canvas.installEventFilter(self)
        self._viewport.installEventFilter(self)

    def eventFilter(self, target: QObject, event: QEvent) -> bool:  # noqa: N802
        if isinstance(event, QContextMenuEvent):
            # The mouse's comes with the press, when nobody knows yet whether it will be a drag.
            if event.reason() == QContextMenuEvent.Reason.Keyboard:
                self.menu_asked.emit(event.pos())
            return True
        if target is self._canvas:
            return isinstance(event, QKeyEvent) and self._key(event)
        if isinstance(event, QMouseEvent):
            return self._mouse(event)
        if event.type() == QEvent.Type.Leave:
            self.left.emit()
        return False

    def _key(self, event: QKeyEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress:
            return False
        step = _STEPS.get(Qt.Key(event.key()))
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if step is not None and modifiers == Qt.KeyboardModifier.NoModifier:
            self.stepped.emit(*step)
            return True
        if event.key() in _ENTER and modifiers == Qt.KeyboardModifier.NoModifier:
            self.entered.emit()
            return True
        if step is not None and step[0] and modifiers == Qt.KeyboardModifier.ShiftModifier:
            self.stretched.emit(step[0])
            return True
        return False

    def _mouse(self, event: QMouseEvent) -> bool:
        position, kind = event.position().toPoint(), event.type()
        if kind == QEvent.Type.MouseMove:
            return self._move(position)
        if kind == QEvent.Type.MouseButtonDblClick and event.button() == Qt.MouseButton.LeftButton:
            self._press_point = None
            self.double_clicked.emit(position)
        elif kind == QEvent.Type.MouseButtonPress:
            self._press_point, self._button = position, event.button()
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._marking = shift and event.button() == Qt.MouseButton.LeftButton
            if self._marking:
                self._canvas.setFocus(Qt.FocusReason.MouseFocusReason)
            return self._marking
        elif kind == QEvent.Type.MouseButtonRelease:
            return self._release(
                position, bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            )
        return False

    def _move(self, point: QPoint) -> bool:
        if self._marking and self._press_point is not None:
            self.marked.emit(self._press_point, point, False)
            return True
        self.moved.emit(point)
        return False

    def _release(self, point: QPoint, control: bool) -> bool:
        start, self._press_point = self._press_point, None
        if start is None:
            return False
        still = (point - start).manhattanLength() < QApplication.startDragDistance()
        if self._marking:
            self._marking = False
            if not still:
                self.marked.emit(start, point, True)
            return True
        if still and self._button == Qt.MouseButton.LeftButton:
            self.clicked.emit(point, control)
        elif still and self._button == Qt.MouseButton.RightButton:
            self.menu_asked.emit(point)
        return False


class Crosshair(QObject):
    picked = Signal(tuple, bool)
    """The keys of cases that were clicked, and whether they are added to those selected."""
    opened = Signal(object)
    """The Reading that was double-clicked."""
    marked = Signal(object, float, float, bool)
    """In which plot, from which to which x and whether that is all, with Shift and the mouse."""
    scrolled = Signal()
    """Keys have moved a plot to where they read."""

    def __init__(self, canvas: QGraphicsView, title: str, *, at_left: bool) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self.box = Readout(title, canvas, at_left=at_left)
        self.hands = Hands(canvas)
        self.hands.moved.connect(self._follow)
        self.hands.left.connect(self._leave)
        self.hands.clicked.connect(self._click)
        self.hands.double_clicked.connect(self._open)
        self.hands.marked.connect(self._mark)
        self.hands.stepped.connect(self.step)
        self.hands.stretched.connect(self.stretch)
        self.hands.entered.connect(self.press)
        self._theme = LIGHT
        self._readers: dict[pg.PlotItem, Reader] = {}
        self._layers: dict[pg.PlotItem, CrossLayer] = {}
        self._framed: dict[pg.PlotItem, ChosenLayer] = {}
        self._selected_keys: frozenset[str] = frozenset()
        self._extra_lines: tuple[Line, ...] = ()
        self._position: tuple[int, float, float] | None = None
        self._anchor: float | None = None
        self._drawn = True
        self.reading: Reading | None = None
        self.pinned = False

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.box.apply_theme(theme)

    def let_read(self, plot: pg.PlotItem, reader: Reader) -> None:
        """From now on this is what stands in a plot."""
        self._readers[plot] = reader
        if plot not in self._layers:
            self._layers[plot] = CrossLayer(plot, self._theme)
        if isinstance(reader, SpotReader) and plot not in self._framed:
            self._framed[plot] = ChosenLayer(plot, self._theme)

    def frame(self, keys: frozenset[str]) -> None:
        """Frame the marks of the cases that are selected."""
        self._selected_keys = keys
        self._frame()

    def _frame(self) -> None:
        """Frames around all marks would set none apart, and hide what they stand around."""
        spots_by_layer: dict[ChosenLayer, list[Spot]] = {}
        other_count = 0
        for plot, layer in self._framed.items():
            reader = self._readers[plot]
            if isinstance(reader, SpotReader):
                spots_by_layer[layer] = reader.of(self._selected_keys)
                other_count += reader.of_cases - len(spots_by_layer[layer])
        for layer, spots in spots_by_layer.items():
            layer.set_spots(spots if other_count else ())

    def clear(self) -> None:
        """The plots are gone; where it stood is read again once there are as many anew."""
        self._readers, self._layers, self._framed, self.reading = {}, {}, {}, None

    def set_drawn(self, drawn: bool) -> None:
        """Draw its lines, or leave them out, as in a picture of the view."""
        self._drawn = drawn
        self._show(self.reading)

    def forget(self) -> None:
        """Read nothing."""
        self.pinned = False
        self._position = None
        self._show(None)

    def tell(self, lines: Sequence[Line]) -> None:
        """What is said of a marked range, below what is read."""
        self._extra_lines = tuple(lines)
        self._show(self.reading)

    def renew(self) -> None:
        """Frame and read the same again, as there may be other data now."""
        self._frame()
        if self._position is None:
            return
        if self._position[0] < len(self._readers):
            self._read(*self._position)
        else:
            self.forget()

    def step(self, right: int, up: int) -> None:
        """To the next bin, sample or mark; between plots that stand one below another too."""
        plots, self._anchor = list(self._readers), None
        if not plots:
            return
        if self._position is None:
            target: tuple[int, float, float] | None = (0, *middle(plots[0]))
        else:
            number, x, y = self._position
            position = self._readers[plots[number]].beyond(place(plots[number], x, y), right, up)
            target = (number, *position) if position else None
            if target is None and up and 0 <= number - up < len(plots):
                target = (number - up, x, y)
        if target is not None:
            self.pinned = False
            if bring(plots[target[0]], target[1], target[2]):
                self.scrolled.emit()
            self._read(*target)
            self.box.speak()

    def stretch(self, right: int) -> None:
        """Step, and mark all from where the first such step began."""
        start = self._position[1] if self._anchor is None and self._position else self._anchor
        self.step(right, 0)
        self._anchor = start
        if start is not None and self._position is not None and self._readers:
            number, x, _ = self._position
            plot = list(self._readers)[number]
            self.marked.emit(plot, min(start, x), max(start, x), True)

    def press(self) -> None:
        """What a click does, where the crosshair stands."""
        if self.reading is not None:
            self._pin(False)

    def _follow(self, point: QPoint) -> None:
        position = None if self.pinned else self._find_position(point)
        if position is not None:
            self._read(*position)
        elif not self.pinned:
            self.forget()

    def _leave(self) -> None:
        if not self.pinned:
            self.forget()

    def _click(self, point: QPoint, add: bool) -> None:
        position = self._find_position(point)
        if position is None:
            self.forget()
            return
        self._read(*position)
        if self.reading is not None:
            self._pin(add)

    def _pin(self, add: bool) -> None:
        self.pinned = True
        self._show(self.reading)
        self.box.speak()
        if self.reading is not None and self.reading.keys:
            self.picked.emit(self.reading.keys, add)

    def _open(self, point: QPoint) -> None:
        position = self._find_position(point)
        if position is not None:
            self._read(*position)
        if self.reading is not None and self.reading.keys:
            self.opened.emit(self.reading)

    def _mark(self, point: QPoint, end: QPoint, let_go: bool) -> None:
        position = self._find_position(point)
        if position is None:
            return
        number, x, _ = position
        plot = list(self._readers)[number]
        far = coordinates(self._canvas, plot, end)[0]
        self.marked.emit(plot, min(x, far), max(x, far), let_go)

    def _read(self, number: int, x: float, y: float) -> None:
        plot, reader = list(self._readers.items())[number]
        self._position = (number, x, y)
        reading = reader.at(place(plot, x, y))
        if reading is not None:
            x = x if reading.x is None else reading.x
            self._position = (number, x, y if reading.y is None else reading.y)
        self._show(reading)

    def _show(self, reading: Reading | None) -> None:
        self.reading = reading
        plots = list(self._readers)
        current_plot = (
            plots[self._position[0]] if self._position and self._position[0] < len(plots) else None
        )
        for plot, layer in self._layers.items():
            if plot is current_plot and reading is not None and self._drawn:
                layer.move_to(reading.x, reading.y, self.pinned)
            else:
                layer.move_to(None, None, False)
        pointer = (
            column(self._canvas, current_plot, self._position[1])
            if self._position and current_plot
            else None
        )
        self.box.tell(reading, self._extra_lines, room(self._canvas, plots), pointer)

    def _find_position(self, point: QPoint) -> tuple[int, float, float] | None:
        scene = self._canvas.mapToScene(point)
        for number, plot in enumerate(self._readers):
            if plot.getViewBox().sceneBoundingRect().contains(scene):
                return (number, *coordinates(self._canvas, plot, point))
        return None
