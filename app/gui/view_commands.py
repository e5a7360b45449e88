"""What can be done with the view in front: saved, copied as a picture, given the whole window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QContextMenuEvent, QCursor, QGuiApplication, QIcon
from PySide6.QtWidgets import QGraphicsView, QMainWindow, QMenu

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
        for view in views.values():
            if isinstance(view, PlotView):
                self._give_menu(view, view.canvas)

    @Slot()
    def export_view(self) -> None:
        view = self._in_front("Export view")
        if view is not None:
            self.save(view)

    @Slot()
    def copy_picture(self) -> None:
        view = self._in_front("Copy picture of", plots=True)
        if isinstance(view, PlotView):
            self.copy(view)

    @Slot()
    def fill_window(self) -> None:
        """Give the view in front all of the window, or bring the others back."""
        if self._docks.filled:
            self._docks.unfill()
            return
        view = self._in_front("Give the window to", plots=True)
        key = next((key for key, one in self._views.items() if one is view), "")
        if key:
            self._docks.fill(key)

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

    def _in_front(self, what: str, plots: bool = False) -> Exportable | None:
        """The table only where it has the focus, or where it may be meant as well."""
        views = list(self._views.values())
        focused = [view for view in views if view.isAncestorOf(self._window.focusWidget())]
        if plots and not focused:
            views = [view for view in views if isinstance(view, PlotView)]
        return in_front(self._window, views, what)

    def _give_menu(self, view: PlotView, canvas: QGraphicsView) -> None:
        # Without a policy Qt would open the menu at a press, and a drag that zooms could not begin.
        canvas.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        canvas.scene().sigMouseClicked.connect(partial(self._clicked, view))
        canvas.installEventFilter(self)

    def _clicked(self, view: PlotView, event: object) -> None:
        if event.button() == Qt.MouseButton.RightButton:  # type: ignore[attr-defined]
            self._open(view, QCursor.pos())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """The menu key, which is no click."""
        if isinstance(event, QContextMenuEvent) and isinstance(watched, QGraphicsView):
            by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
            view = next((v for v in self._plots() if v.canvas is watched), None)
            if by_key and view is not None:
                self._open(view, watched.mapToGlobal(watched.rect().center()))
            return True
        return False

    def _plots(self) -> Sequence[PlotView]:
        return [view for view in self._views.values() if isinstance(view, PlotView)]

    def _open(self, view: PlotView, at: QPoint) -> None:
        menu = QMenu(view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, act in (
            ("&Copy picture", partial(self.copy, view)),
            ("&Save as…", partial(self.save, view)),
            ("&Fit", view.fit),
            ("&Whole window", partial(self._fill, view)),
        ):
            menu.addAction(QAction(QIcon(), text, menu, triggered=lambda _=False, act=act: act()))
        menu.popup(at)

    def _fill(self, view: PlotView) -> None:
        if self._docks.filled:
            self._docks.unfill()
        else:
            self._docks.fill(next(key for key, one in self._views.items() if one is view))
