"""What can be done with the view in front: saved, copied as a picture, given the whole window."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QGraphicsView, QMainWindow, QMenu

from app.gui.docks import Docks
from app.gui.export_view import Exportable, ask_and_export, in_front
from app.gui.look.errors import errors_to
from app.gui.plots.base import PlotView
from app.gui.plots.export import picture


class ViewCommands(QObject):
    """Each plot gets a context menu, by a click of the right button or the menu key."""

    said = Signal(str)
    failed = Signal(object)

    def __init__(self, window: QMainWindow, docks: Docks, views: dict[str, Exportable]) -> None:
        super().__init__(window)
        self._window, self._docks, self._views = window, docks, views
        self._plots = [view for view in views.values() if isinstance(view, PlotView)]
        self._pressed = QPoint()
        for view in self._plots:
            self._give_menu(view.canvas)

    @Slot()
    def export_view(self) -> None:
        view = in_front(self._window, [*self._views.values()], "Export view")
        if view is not None:
            self.save(view)

    @Slot()
    def copy_picture(self) -> None:
        view = in_front(self._window, self._plots, "Copy picture of")
        if view is not None:
            self.copy(view)

    @Slot()
    def fill_window(self) -> None:
        """Give the view in front all of the window, or bring the others back."""
        if self._docks.filled:
            self._docks.unfill()
            return
        view = in_front(self._window, self._plots, "Give the window to")
        if view is not None:
            self._fill(view)
        else:
            self._docks.placed.emit()  # the check mark of the action stays what is so

    def save(self, view: Exportable) -> None:
        """Ask where to, and say what was written."""
        with errors_to(self.failed.emit):
            path = ask_and_export(self._window, view)
            if path is not None:
                self.said.emit(f"Saved {view.title} as {path}")

    def copy(self, view: PlotView) -> None:
        """Put the view on the clipboard, as it would be saved."""
        QGuiApplication.clipboard().setImage(picture(view))
        self.said.emit(f"Copied the picture of {view.title}")

    def _give_menu(self, canvas: QGraphicsView) -> None:
        canvas.setAcceptDrops(False)  # what is dropped on a plot is the window's
        canvas.installEventFilter(self)
        canvas.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """A click of the right button, when it ends no drag that zoomed; or the menu key."""
        if isinstance(event, QContextMenuEvent):
            if event.reason() == QContextMenuEvent.Reason.Keyboard:
                self._open(watched, event.globalPos())
            return True
        # Qt hands a click that the viewport has no use for on to the canvas: heeded once.
        on_viewport = not isinstance(watched, QGraphicsView)
        right = Qt.MouseButton.RightButton
        if on_viewport and isinstance(event, QMouseEvent) and event.button() == right:
            self._right_button(watched, event)
        return False

    def _right_button(self, canvas: QObject, event: QMouseEvent) -> None:
        at = event.globalPosition().toPoint()
        moved = (at - self._pressed).manhattanLength()
        if event.type() == QEvent.Type.MouseButtonPress:
            self._pressed = at
        elif moved < QApplication.startDragDistance():
            self._open(canvas, at)

    def _open(self, canvas: QObject, at: QPoint) -> None:
        view = next(v for v in self._plots if canvas in (v.canvas, v.canvas.viewport()))
        menu = QMenu(view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        view.add_reading_actions(menu)
        for text, act in (
            ("&Copy picture", partial(self.copy, view)),
            ("&Save as…", partial(self.save, view)),
            ("&Fit", view.fit),
            ("&Whole window", partial(self._fill, view)),
        ):
            menu.addAction(text).triggered.connect(lambda _=False, act=act: act())
        menu.popup(at)

    def _fill(self, view: PlotView) -> None:
        if self._docks.filled:
            self._docks.unfill()
        else:
            self._docks.fill(next(key for key, one in self._views.items() if one is view))
