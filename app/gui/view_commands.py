"""What can be done with the view in front: saved, copied as a picture, given the whole window."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMainWindow

from app.gui.export_view import Exportable, ask_and_export, in_front
from app.gui.look.errors import errors_to
from app.gui.plots.base import PlotView
from app.gui.plots.export import picture
from app.gui.shell.frame import Frame


class ViewCommands(QObject):
    """The context menu of each plot gets what can be done with it."""

    said = Signal(str)
    failed = Signal(object)

    def __init__(self, window: QMainWindow, frame: Frame, views: dict[str, Exportable]) -> None:
        super().__init__(window)
        self._window, self._frame, self._views = window, frame, views
        self._plots = [view for view in views.values() if isinstance(view, PlotView)]
        for view in self._plots:
            self._give_menu(view)
            view.nothing_dropped.connect(frame.unfill)

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
        if self._frame.filled:
            self._frame.unfill()
            return
        view = in_front(self._window, self._plots, "Give the window to")
        if view is not None:
            self._fill(view)
        else:
            self._frame.placed.emit()  # the check mark of the action stays what is so

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

    def _give_menu(self, view: PlotView) -> None:
        view.canvas.setAcceptDrops(False)  # what is dropped on a plot is the window's
        for text, act in (
            ("&Copy picture", partial(self.copy, view)),
            ("&Save as…", partial(self.save, view)),
            ("&Fit", view.fit),
            ("&Whole window, or no longer", partial(self._fill, view)),
        ):
            action = QAction(text, view)
            action.triggered.connect(lambda _=False, act=act: act())
            view.menu_actions.append(action)

    def _fill(self, view: PlotView) -> None:
        if self._frame.filled:
            self._frame.unfill()
        else:
            self._frame.fill()
