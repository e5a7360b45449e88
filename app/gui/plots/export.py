"""Pictures of a view, PNG and SVG: as it is shown, but on a light background."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QRectF, QSize
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView

from app.gui.look.csv_file import NotWritten
from app.gui.look.theme import LIGHT, Theme
from app.gui.plots.base import PlotView

_UNSEEN = QSize(1280, 800)
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
        view.canvas.scene().render(painter, QRectF(image.rect()), _shown(view.canvas))
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
        view.canvas.scene().render(painter, place, _shown(view.canvas))
        painter.end()


@contextmanager
def _on_light(view: PlotView) -> Iterator[None]:
    """The view on the light theme for as long as a picture is taken, unseen by the user."""
    theme, arrangement = view.theme, view.arrangement
    view.setUpdatesEnabled(False)
    if not view.isVisible():
        view.resize(view.size().expandedTo(_UNSEEN))
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


def _shown(canvas: QGraphicsView) -> QRectF:
    return canvas.mapToScene(canvas.viewport().rect()).boundingRect()
