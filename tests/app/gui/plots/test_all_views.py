"""What holds for every view: it draws, says its clock, exports on light, and is reachable."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QComboBox, QGraphicsScene, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.text import NotWritten
from app.gui.look.theme import DARK, LIGHT
from app.gui.plots.base import PlotView
from app.gui.view_commands import export, export_png, export_svg
from tests.app.gui.plots.views import EMPTY, FILLED

Show = Callable[[str], PlotView]
filled = pytest.mark.parametrize("name", FILLED)


@pytest.fixture
def shown(qtbot: QtBot, tmp_path: Path) -> Show:
    """Make the named view visible with its data."""

    def show(name: str) -> PlotView:
        view = FILLED[name](tmp_path)
        qtbot.addWidget(view)
        view.resize(900, 600)
        view.show()
        qtbot.waitExposed(view)
        qtbot.waitUntil(lambda: bool(view.plots))
        return view

    return show


def _colors(image: QImage) -> set[str]:
    return {
        image.pixelColor(x, y).name()
        for x in range(0, image.width(), 3)
        for y in range(0, image.height(), 3)
    }


def _ink(image: QImage) -> np.ndarray:
    """How dark each patch of 8 x 8 pixels is, from 0 to 1."""
    image = image.convertToFormat(QImage.Format.Format_Grayscale8)
    flat = np.frombuffer(image.constBits(), np.uint8)
    rows = flat.reshape(image.height(), image.bytesPerLine())[:, : image.width()] / 255.0
    high, wide = rows.shape[0] // 8, rows.shape[1] // 8
    return 1.0 - rows[: high * 8, : wide * 8].reshape(high, 8, wide, 8).mean(axis=(1, 3))


@filled
def test_a_view_draws_in_its_colours_and_exports_on_light_what_it_shows(
    qtbot: QtBot, shown: Show, name: str, tmp_path: Path
) -> None:
    view, png, svg, table = (
        shown(name),
        *(tmp_path / f"plot.{end}" for end in ("png", "svg", "csv")),
    )
    # Axes change their bounds before they say so; Qt then paints what is deleted, and crashes.
    assert view.canvas.scene().itemIndexMethod() == QGraphicsScene.ItemIndexMethod.NoIndex
    qtbot.wait(50)
    screen, size = view.canvas.grab().toImage(), view.canvas.viewport().size()
    view.apply_theme(DARK)
    image = view.canvas.grab().toImage()
    assert image.pixelColor(2, image.height() - 3) == QColor(DARK.base)
    assert len(_colors(image)) > 5
    export_png(view, png)
    sharp = QImage(str(png))
    assert sharp.size() == size * 2
    assert sharp.pixelColor(1, sharp.height() - 2) == QColor(LIGHT.base)
    assert view.theme is DARK
    assert view.canvas.grab().toImage().pixelColor(2, 2) == QColor(DARK.base)
    export_svg(view, svg)
    root = ElementTree.parse(svg).getroot()
    assert view.title in " ".join(text for element in root.iter() if (text := element.text))
    assert DARK.base not in svg.read_text(encoding="utf-8")
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
    with table.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert rows
    assert all(len(row) == len(header) for row in rows)


@filled
def test_a_view_that_was_never_on_screen_can_be_exported(
    qtbot: QtBot, name: str, tmp_path: Path
) -> None:
    view = FILLED[name](tmp_path)
    qtbot.addWidget(view)
    export_png(view, tmp_path / "plot.png", scale=1.0)
    image = QImage(str(tmp_path / "plot.png"))
    assert image.width() >= 1200
    assert len(_colors(image)) > 5


@pytest.mark.parametrize("view_class", EMPTY, ids=lambda view: view.title)
def test_a_view_without_data_says_so_and_its_controls_have_names_hints_and_the_focus(
    qtbot: QtBot, view_class: type[PlotView]
) -> None:
    view = view_class()
    qtbot.addWidget(view)
    controls = view.findChildren(QWidget)
    controls = [c for c in controls if isinstance(c, QAbstractButton | QComboBox | QLineEdit)]
    for control in controls:
        if control.parent() is view:
            assert control.accessibleName() and control.toolTip(), control
            assert control.focusPolicy() != control.focusPolicy().NoFocus
    assert view.accessibleName() == view.title
    view.show()
    assert view._missing.isVisible() and view._missing.text().endswith(".")


def test_nothing_is_drawn_for_a_view_that_nobody_sees(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = FILLED["histogram"](Path())
    qtbot.addWidget(view)
    draw_calls = []

    def draw() -> str:
        draw_calls.append(1)
        return ""

    monkeypatch.setattr(view, "draw", draw)
    view.refresh()
    assert not draw_calls
    view.show()
    view.refresh()
    view.refresh()
    assert draw_calls == [1]


def test_a_file_that_cannot_be_written_is_one_sentence(shown: Show, tmp_path: Path) -> None:
    view = shown("histogram")
    for ending in ("png", "svg", "csv"):
        with pytest.raises(NotWritten, match="choose a folder"):
            export(view, tmp_path / "missing" / f"plot.{ending}")
    assert view.theme is LIGHT
