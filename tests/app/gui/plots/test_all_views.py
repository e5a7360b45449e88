"""What holds for every view: it draws, says its clock, exports on light, and is reachable."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QComboBox, QGraphicsScene, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.csv_file import NotWritten
from app.gui.look.theme import DARK, LIGHT, THEMES, Theme
from app.gui.plots.base import PlotView
from app.gui.plots.graph import GraphView
from app.gui.view_commands import export, export_png, export_svg
from tests.app.gui.plots.views import EMPTY, FILLED, live

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


@filled
def test_a_view_has_no_index_of_places_that_can_be_stale(shown: Show, name: str) -> None:
    """Axes change their bounds before they say so; Qt then paints what is deleted, and crashes."""
    method = shown(name).canvas.scene().itemIndexMethod()
    assert method == QGraphicsScene.ItemIndexMethod.NoIndex


@filled
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_a_view_draws_in_the_themes_colours(shown: Show, name: str, theme: Theme) -> None:
    view = shown(name)
    view.apply_theme(theme)
    image = view.canvas.grab().toImage()
    assert image.pixelColor(2, image.height() - 3) == QColor(theme.base)
    assert len(_colors(image)) > 5


@filled
def test_the_png_is_light_and_sharp_whatever_the_window_wears(
    shown: Show, name: str, tmp_path: Path
) -> None:
    view = shown(name)
    view.apply_theme(DARK)
    size = view.canvas.viewport().size()
    export_png(view, tmp_path / "plot.png")
    image = QImage(str(tmp_path / "plot.png"))
    assert image.size() == size * 2
    assert image.pixelColor(1, image.height() - 2) == QColor(LIGHT.base)
    assert len(_colors(image)) > 5
    assert view.theme is DARK
    assert view.canvas.grab().toImage().pixelColor(2, 2) == QColor(DARK.base)


@filled
def test_the_svg_is_well_formed_and_holds_the_heading_as_text(
    shown: Show, name: str, tmp_path: Path
) -> None:
    view = shown(name)
    export_svg(view, tmp_path / "plot.svg")
    root = ElementTree.parse(tmp_path / "plot.svg").getroot()
    svg_text = " ".join(text for element in root.iter() if (text := element.text))
    assert view.title in svg_text
    assert len(list(root.iter())) > 30
    assert "#15181d" not in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def _ink(image: QImage) -> np.ndarray:
    """How dark each patch of 8 x 8 pixels is, from 0 to 1."""
    image = image.convertToFormat(QImage.Format.Format_Grayscale8)
    flat = np.frombuffer(image.constBits(), np.uint8)
    rows = flat.reshape(image.height(), image.bytesPerLine())[:, : image.width()] / 255.0
    high, wide = rows.shape[0] // 8, rows.shape[1] // 8
    return 1.0 - rows[: high * 8, : wide * 8].reshape(high, 8, wide, 8).mean(axis=(1, 3))


@filled
def test_exports_are_laid_out_as_the_window_shows_them(
    qtbot: QtBot, shown: Show, name: str, tmp_path: Path
) -> None:
    view = shown(name)
    qtbot.wait(50)
    screen = view.canvas.grab().toImage()
    view.apply_theme(DARK)
    export_png(view, tmp_path / "plot.png", scale=1.0)
    export_svg(view, tmp_path / "plot.svg")
    svg = QImage(screen.size(), QImage.Format.Format_RGB32)
    svg.fill(QColor(LIGHT.base))
    painter = QPainter(svg)
    QSvgRenderer(str(tmp_path / "plot.svg")).render(painter)
    painter.end()
    for image in (QImage(str(tmp_path / "plot.png")), svg):
        is_misplaced = np.abs(_ink(image) - _ink(screen)) > 0.25
        assert is_misplaced.mean() < 0.004


@filled
def test_the_csv_has_a_row_for_what_is_drawn(shown: Show, name: str, tmp_path: Path) -> None:
    view = shown(name)
    export(view, tmp_path / "plot.csv")
    with (tmp_path / "plot.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert rows
    assert all(len(row) == len(header) for row in rows)


@filled
def test_a_view_that_was_never_on_screen_can_be_exported(
    qtbot: QtBot, name: str, tmp_path: Path
) -> None:
    view = FILLED[name](tmp_path)
    qtbot.addWidget(view)
    if isinstance(view, GraphView):
        qtbot.waitUntil(lambda: view._laid is not None)
    export_png(view, tmp_path / "plot.png", scale=1.0)
    image = QImage(str(tmp_path / "plot.png"))
    assert image.width() >= 1200
    assert len(_colors(image)) > 5


@pytest.mark.parametrize("view_class", EMPTY, ids=lambda view: view.title)
def test_a_view_without_data_says_what_is_missing(qtbot: QtBot, view_class: type[PlotView]) -> None:
    view = view_class()
    qtbot.addWidget(view)
    view.show()
    assert view._missing.isVisible()
    assert view._missing.text().endswith(".")


@pytest.mark.parametrize("view_class", EMPTY, ids=lambda view: view.title)
def test_every_control_has_a_name_and_a_hint_and_takes_the_focus(
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


def test_thirty_frames_lose_no_reference_to_none(shown: Show) -> None:
    """Some PySide6 releases drop one on each repaint, until CPython aborts."""
    view = shown("histogram")
    for _ in range(3):
        view.canvas.grab()
    count_before = sys.getrefcount(None)
    for seed in range(30):
        view.set_series(live()[: 1 + seed % 3])
        view.refresh()
        view.canvas.grab()
    assert sys.getrefcount(None) >= count_before
