"""Commands of the view in front: its picture or numbers in a file, the whole window for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import (
    QByteArray,
    QCoreApplication,
    QEvent,
    QObject,
    QRectF,
    QSize,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QColor, QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QGraphicsView, QMainWindow, QWidget

from app.gui.look.errors import errors_to
from app.gui.look.text import NotWritten, write_csv
from app.gui.look.theme import LIGHT, Theme
from app.gui.plots.base import PlotView
from app.gui.shell import Frame
from app.gui.tables.results import ResultsTable
from exporters.types import GraphlapError

_HIDDEN_SIZE = QSize(1280, 800)
"""The size of a picture of a view that was never on screen."""


def export_png(view: PlotView, path: Path, scale: float = 2.0) -> None:
    """`scale` pixels for each of the view's own; NotWritten if the file can't be made."""
    if not QImageWriter(str(path), QByteArray(b"PNG")).write(picture(view, scale)):
        raise NotWritten(path)


def picture(view: PlotView, scale: float = 2.0) -> QImage:
    """The view as pixels, `scale` for each of its own."""
    with _on_light(view):
        image = QImage(view.canvas.viewport().size() * scale, QImage.Format.Format_ARGB32)
        image.fill(QColor(LIGHT.base))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        view.canvas.scene().render(painter, QRectF(image.rect()), _get_visible_area(view.canvas))
        painter.end()
    return image


def export_svg(view: PlotView, path: Path) -> None:
    """The view as vectors, its texts as text; NotWritten if the file can't be made."""
    with _on_light(view):
        size = view.canvas.viewport().size()
        place = QRectF(0, 0, size.width(), size.height())
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(size)
        generator.setResolution(view.canvas.logicalDpiX())
        generator.setViewBox(place)
        generator.setTitle(view.title)
        painter = QPainter()
        if not painter.begin(generator):
            raise NotWritten(path)
        view.canvas.scene().render(painter, place, _get_visible_area(view.canvas))
        painter.end()


@contextmanager
def _on_light(view: PlotView) -> Iterator[None]:
    """The view on the light theme for as long as a picture is taken, unseen by the user."""
    theme, arrangement = view.theme, view.arrangement
    view.setUpdatesEnabled(False)
    if not view.isVisible():
        view.resize(view.size().expandedTo(_HIDDEN_SIZE))
        view.grab()
    view.crosshair.set_drawn(False)
    try:
        view.arrange(replace(arrangement, listed=False, lit=None))  # the list is not in the picture
        _dress(view, LIGHT)
        yield
    finally:
        view.crosshair.set_drawn(True)
        view.arrange(arrangement)
        _dress(view, theme)
        view.setUpdatesEnabled(True)


def _dress(view: PlotView, theme: Theme) -> None:
    """Draw in the theme and settle: axes learn their width while they are painted."""
    view.apply_theme(theme)
    view.draw_now()
    for _ in range(2):
        view.canvas.grab()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


def _get_visible_area(canvas: QGraphicsView) -> QRectF:
    return canvas.mapToScene(canvas.viewport().rect()).boundingRect()


Exportable = PlotView | ResultsTable
ViewT = TypeVar("ViewT", bound=Exportable)
_KINDS = {".png": "Picture (*.png)", ".svg": "Vector picture (*.svg)", ".csv": "Numbers (*.csv)"}


def export(view: Exportable, path: Path) -> None:
    """Write by the ending of `path`; GraphlapError for one that the view does not know."""
    writers = _writers(view)
    write = writers.get(path.suffix.lower())
    if write is None:
        raise GraphlapError(
            f"{path.name} has no ending of a format", f"end it in {', '.join(writers)}"
        )
    write(path)


def ask_and_export(window: QWidget, view: Exportable) -> Path | None:
    """Ask where to; the file that was written, None on cancel."""
    kinds = {_KINDS[ending]: ending for ending in _writers(view)}
    name = view.title.lower().replace(" ", "-")
    path, kind = QFileDialog.getSaveFileName(window, "Export view", name, ";;".join(kinds))
    if not path:
        return None
    target = Path(path) if Path(path).suffix else Path(path).with_suffix(kinds[kind])
    export(view, target)
    return target


def _writers(view: Exportable) -> dict[str, Callable[[Path], None]]:
    """What writes the view, by the ending of the file."""
    numbers = {".csv": lambda path: write_csv(path, *view.table())}
    if not isinstance(view, PlotView):
        return numbers
    return {
        ".png": lambda path: export_png(view, path),
        ".svg": lambda path: export_svg(view, path),
        **numbers,
    }


def in_front(window: QWidget, views: Sequence[ViewT]) -> ViewT | None:
    """The view with the focus, else the first that is seen."""
    focus = window.focusWidget()
    seen = [view for view in views if _is_seen(view)]
    holding = (view for view in seen if focus is not None and view.isAncestorOf(focus))
    return next(holding, seen[0] if seen else None)


def _is_seen(view: Exportable) -> bool:
    if isinstance(view, PlotView):
        return view.is_in_sight
    return view.isVisible() and not view.visibleRegion().isEmpty()


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
        view = in_front(self._window, [*self._views.values()])
        if view is not None:
            self.save(view)

    @Slot()
    def copy_picture(self) -> None:
        view = in_front(self._window, self._plots)
        if view is not None:
            self.copy(view)

    @Slot()
    def fill_window(self) -> None:
        """Give the view in front all of the window, or bring the others back."""
        if self._frame.filled:
            self._frame.unfill()
            return
        view = in_front(self._window, self._plots)
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
