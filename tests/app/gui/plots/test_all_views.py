"""What holds for every view: it draws, says its clock, exports on light, and is reachable."""

from __future__ import annotations

import csv
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QGraphicsScene
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Standing
from app.gui.look.text import NotWritten
from app.gui.look.theme import DARK, LIGHT
from app.gui.plots.distributions import PercentileView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.timeline import TimelineView
from app.gui.view_commands import export, export_png, export_svg
from app.gui.views import VIEWS, ViewSpec
from tests.app.gui.plots.views import FILLED, redraw
from tests.app.gui.synthetic import failed, series


def _colors(image: QImage) -> set[str]:
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())
    return {f"#{color & 0xFFFFFF:06x}" for color in np.unique(pixels[::3, ::3])}


def _ink(image: QImage) -> np.ndarray:
    """How dark each patch of 8 x 8 pixels is, from 0 to 1."""
    image = image.convertToFormat(QImage.Format.Format_Grayscale8)
    flat = np.frombuffer(image.constBits(), np.uint8)
    rows = flat.reshape(image.height(), image.bytesPerLine())[:, : image.width()] / 255.0
    high, wide = rows.shape[0] // 8, rows.shape[1] // 8
    return 1.0 - rows[: high * 8, : wide * 8].reshape(high, 8, wide, 8).mean(axis=(1, 3))


@pytest.mark.parametrize("name", FILLED)
def test_a_view_draws_is_read_by_keys_and_exports_on_light_what_it_shows(
    qtbot: QtBot, name: str, tmp_path: Path
) -> None:
    png, svg, table = (tmp_path / f"plot.{end}" for end in ("png", "svg", "csv"))
    view = FILLED[name](tmp_path)
    qtbot.addWidget(view)
    export_png(view, png, scale=1.0)
    assert len(_colors(QImage(str(png)))) > 5, "also what was never on screen"
    view.resize(900, 600)
    view.show()
    qtbot.waitExposed(view)
    qtbot.waitUntil(lambda: bool(view.plots))
    # Axes change their bounds before they say so; Qt then paints what is deleted, and crashes.
    assert view.canvas.scene().itemIndexMethod() == QGraphicsScene.ItemIndexMethod.NoIndex
    qtbot.wait(50)
    screen, size = view.canvas.grab().toImage(), view.canvas.viewport().size()
    view.apply_theme(DARK)
    assert QColor(DARK.base).name() in _colors(view.canvas.grab().toImage())
    export_png(view, png)
    sharp = QImage(str(png))
    assert sharp.size() == size * 2
    assert sharp.pixelColor(1, sharp.height() - 2) == QColor(LIGHT.base)
    assert view.theme is DARK
    export_svg(view, svg)
    content = svg.read_text(encoding="utf-8")
    assert view.title in content and DARK.base not in content
    drawing = QImage(screen.size(), QImage.Format.Format_RGB32)
    drawing.fill(QColor(LIGHT.base))
    painter = QPainter(drawing)
    QSvgRenderer(str(svg)).render(painter)
    painter.end()
    export_png(view, png, scale=1.0)
    for exported in (QImage(str(png)), drawing):
        is_misplaced = np.abs(_ink(exported) - _ink(screen)) > 0.25
        assert is_misplaced.mean() < 0.004
    export(view, table)
    header, *rows = csv.reader(table.read_text("utf-8").splitlines())
    assert rows
    assert all(len(row) == len(header) for row in rows)
    with pytest.raises(NotWritten):
        export(view, tmp_path / "missing" / table.name)
    read = set()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Up) * 2:
        QTest.keyClick(view.canvas, key)
        read.add(view.crosshair.box.plain)
    assert len(read - {""}) >= 2, "the keys go on to the next mark"
    assert name == "checks" or any(character.isdigit() for character in " ".join(read))
    assert view.crosshair.box.accessibleDescription() == view.crosshair.box.plain


def test_a_picture_that_can_not_be_written_is_said(qtbot: QtBot, tmp_path: Path) -> None:
    view = FILLED["histogram"](tmp_path)
    qtbot.addWidget(view)
    for name in ("plot.png", "plot.svg"):
        with pytest.raises(NotWritten):
            export(view, tmp_path / "missing" / name)


@pytest.mark.parametrize("spec", VIEWS, ids=lambda spec: spec.key)
def test_a_view_without_data_says_so(qtbot: QtBot, spec: ViewSpec) -> None:
    view = spec.make()
    qtbot.addWidget(view)
    view.show()
    assert view._missing.isVisible() and view._missing.text().endswith(".")
    assert view.table()[1] == []
    if isinstance(view, HistogramView | PercentileView | TimelineView):
        redraw(view, [series(count=400)])
        ends: dict[Standing, str] = {
            "crashed": "None of these cases gave samples",
            "waiting": "yet",
        }
        for status, told in ends.items():
            redraw(view, [failed("ort-cpu", "mlp", status, "killed by signal 11")])
            assert told in view._missing.text()
            assert view.heading._note == "", "nothing of the former run stays above it"


def test_nothing_is_drawn_for_a_view_that_nobody_sees(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = FILLED["histogram"](Path())
    qtbot.addWidget(view)
    drawn = count()
    monkeypatch.setattr(view, "draw", lambda: f"{next(drawn)}")
    view.refresh()
    view.show()
    view.refresh()
    view.refresh()
    assert next(drawn) == 1
