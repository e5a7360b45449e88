"""Mouse and keys over a canvas, as what is meant by them: move, click, mark a range, step.

What it takes is kept from the plot; all else, such as dragging and the wheel, goes on to it.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QGraphicsView

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
        self._pressed: QPoint | None = None
        self._button = Qt.MouseButton.NoButton
        self._marking = False
        canvas.installEventFilter(self)
        self._viewport.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if isinstance(event, QContextMenuEvent):
            # The mouse's comes with the press, when nobody knows yet whether it will be a drag.
            if event.reason() == QContextMenuEvent.Reason.Keyboard:
                self.menu_asked.emit(event.pos())
            return True
        if watched is self._canvas:
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
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if step is not None and held == Qt.KeyboardModifier.NoModifier:
            self.stepped.emit(*step)
            return True
        if event.key() in _ENTER and held == Qt.KeyboardModifier.NoModifier:
            self.entered.emit()
            return True
        if step is not None and step[0] and held == Qt.KeyboardModifier.ShiftModifier:
            self.stretched.emit(step[0])
            return True
        return False

    def _mouse(self, event: QMouseEvent) -> bool:
        at, kind = event.position().toPoint(), event.type()
        if kind == QEvent.Type.MouseMove:
            return self._move(at)
        if kind == QEvent.Type.MouseButtonDblClick and event.button() == Qt.MouseButton.LeftButton:
            self._pressed = None
            self.double_clicked.emit(at)
        elif kind == QEvent.Type.MouseButtonPress:
            self._pressed, self._button = at, event.button()
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._marking = shift and event.button() == Qt.MouseButton.LeftButton
            if self._marking:
                self._canvas.setFocus(Qt.FocusReason.MouseFocusReason)
            return self._marking
        elif kind == QEvent.Type.MouseButtonRelease:
            return self._release(at, bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))
        return False

    def _move(self, at: QPoint) -> bool:
        if self._marking and self._pressed is not None:
            self.marked.emit(self._pressed, at, False)
            return True
        self.moved.emit(at)
        return False

    def _release(self, at: QPoint, control: bool) -> bool:
        begun, self._pressed = self._pressed, None
        if begun is None:
            return False
        still = (at - begun).manhattanLength() < QApplication.startDragDistance()
        if self._marking:
            self._marking = False
            if not still:
                self.marked.emit(begun, at, True)
            return True
        if still and self._button == Qt.MouseButton.LeftButton:
            self.clicked.emit(at, control)
        elif still and self._button == Qt.MouseButton.RightButton:
            self.menu_asked.emit(at)
        return False
