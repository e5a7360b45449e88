"""Pictures and tables of a view: PNG and SVG on a light background, CSV of its numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QRectF, QSize
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView

from app.gui.look.theme import LIGHT, Theme
from app.results.table import neutralised
from exporters.types import GraphlapError

if TYPE_CHECKING:
    from app.gui.plots.base import PlotView

_UNSEEN = QSize(1280, 800)
"""The size of a picture of a view that was never on screen."""


class NotWritten(GraphlapError):
    """A picture or table could not be written."""


@contextmanager
def on_light(view: PlotView) -> Iterator[None]:
    """The view on the light theme for as long as a picture is taken, unseen by the user."""
    theme = view.theme
    view.setUpdatesEnabled(False)
    if not view.isVisible():
        view.resize(view.size().expandedTo(_UNSEEN))
        view.grab()
    try:
        _dress(view, LIGHT)
        yield
    finally:
        _dress(view, theme)
        view.setUpdatesEnabled(True)


def _dress(view: PlotView, theme: Theme) -> None:
    """Draw in the theme and settle: axes learn their width while they are painted."""
    view.apply_theme(theme)
    view.draw_now()
    for _ in range(2):
        view.canvas.grab()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


def scene_to_png(canvas: QGraphicsView, path: Path, background: str, scale: float) -> None:
    """What the canvas shows as a PNG; NotWritten if the file can't be made."""
    size = canvas.viewport().size()
    image = QImage(size * scale, QImage.Format.Format_ARGB32)
    image.fill(QColor(background))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    canvas.scene().render(painter, QRectF(image.rect()), _shown(canvas))
    painter.end()
    if not image.save(str(path), "PNG"):
        raise _not_written(path)


def scene_to_svg(canvas: QGraphicsView, path: Path, title: str) -> None:
    """What the canvas shows as an SVG; NotWritten if the file can't be made."""
    size = canvas.viewport().size()
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setResolution(canvas.logicalDpiX())
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter()
    if not painter.begin(generator):
        raise _not_written(path)
    canvas.scene().render(painter, QRectF(0, 0, size.width(), size.height()), _shown(canvas))
    painter.end()


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """UTF-8, `.` decimals, empty for None and NaN; text a spreadsheet would run is quoted."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([[_cell(value) for value in row] for row in rows])
    except OSError as error:
        raise _not_written(path) from error


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return neutralised(value) if isinstance(value, str) else value


def _shown(canvas: QGraphicsView) -> QRectF:
    return canvas.mapToScene(canvas.viewport().rect()).boundingRect()


def _not_written(path: Path) -> NotWritten:
    return NotWritten(f"{path} could not be written", "choose a folder that you may write to")
