"""Axes, labels and intervals of plots, against what the numbers are."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication, QScrollArea
from pytestqt.qtbot import QtBot

from app.gui.look.overlay import Overlay
from app.gui.plots.axes import (
    LogAxis,
    NinesAxis,
    time_axis,
)
from app.gui.plots.distributions import BoxesView
from app.gui.plots.figure_view import axis_item
from app.gui.plots.marks import lay_intervals
from app.present.figure import Axis
from tests.app.gui.plots.views import many, on_screen


def _tick_labels(axis: LogAxis, low: float, high: float, size: float = 800.0) -> list[str]:
    """The labels that the axis prints between two values."""
    spacing, values = axis.tickValues(math.log10(low), math.log10(high), size)[0]
    return axis.tickStrings(values, 1.0, spacing)


def test_a_time_axis_prints_units_at_every_zoom(qapp: QApplication) -> None:
    axis = time_axis("bottom")
    assert _tick_labels(axis, 1e-7, 1e2, 400.0) == ["1 µs", "100 µs", "10 ms", "1 s", "100 s"]
    assert _tick_labels(axis, 9e-6, 2.1e-4) == ["10 µs", "20 µs", "50 µs", "100 µs", "200 µs"]
    assert _tick_labels(axis, 1.01e-5, 1.055e-5, 350.0) == [
        "10.1 µs",
        "10.2 µs",
        "10.3 µs",
        "10.4 µs",
        "10.5 µs",
    ]


def test_the_nines_axis_gives_each_nine_the_same_room(qapp: QApplication) -> None:
    spacing, values = NinesAxis("bottom").tickValues(0.0, 4.2, 800.0)[0]
    texts = NinesAxis("bottom").tickStrings(values, 1.0, spacing)
    assert texts == ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]
    assert values[2:] == [1.0, 2.0, 3.0, 4.0]


RED = QColor("#ff0000")


def _red_rows(image: QImage) -> dict[int, int]:
    """How many red pixels each row has that has more than one."""
    counts = {
        y: sum(image.pixelColor(x, y).name() == RED.name() for x in range(image.width()))
        for y in range(image.height())
    }
    return {y: count for y, count in counts.items() if count > 1}


@pytest.mark.parametrize("reach", [0.001, 1.0, 1000.0])
def test_caps_stand_at_the_ends_and_are_as_wide_at_any_zoom(qtbot: QtBot, reach: float) -> None:
    canvas = pg.GraphicsLayoutWidget()
    qtbot.addWidget(canvas)
    canvas.resize(400, 300)
    plot = canvas.ci.addPlot(row=0, col=0, axisItems={})
    layers: list[Overlay] = []

    def lay(layer: Overlay) -> Overlay:
        layers.append(layer)
        return layer

    pen = pg.mkPen(RED, width=1)
    lay_intervals(lay, plot, np.array([0.0]), np.array([1.0]), np.array([3.0]), pen)
    canvas.show()
    qtbot.waitExposed(canvas)
    canvas.grab()  # what is not painted has no range yet
    (_, _), (low, high) = plot.getViewBox().viewRange()
    assert low <= 1.0 and high >= 3.0, "the plot holds the interval by itself"
    plot.setXRange(-reach, reach, padding=0)
    plot.setYRange(0.0, 4.0, padding=0)
    qtbot.wait(50)
    caps = _red_rows(canvas.grab().toImage())
    assert len(caps) == 2
    assert all(6 <= count <= 12 for count in caps.values())
    upper, lower = sorted(caps)
    assert lower - upper == pytest.approx(plot.getViewBox().rect().height() / 2.0, abs=2)


@pytest.mark.parametrize("with_names", [False, True])
def test_ticks_that_lie_close_have_labels_that_do_not_touch(qtbot: QtBot, with_names: bool) -> None:
    texts = [f"03-{day:02d} 02:00" for day in range(1, 31)]
    named, ticked = Axis("run", names=tuple(texts)), Axis("run", ticks=tuple(enumerate(texts)))
    axis = axis_item(named if with_names else ticked, "bottom")
    canvas = pg.GraphicsLayoutWidget()
    qtbot.addWidget(canvas)
    canvas.resize(700, 300)
    plot = canvas.ci.addPlot(row=0, col=0, axisItems={"bottom": axis})
    plot.setXRange(-1, 30, padding=0)
    canvas.show()
    qtbot.waitExposed(canvas)
    picture = canvas.grab()  # a painter does not keep what it paints on
    painter = QPainter(picture)
    specs = axis.generateDrawSpecs(painter)
    painter.end()
    assert specs is not None
    areas = [area for area, _, _ in specs[2]]
    assert 5 <= len(areas) < 15
    assert not any(a.intersects(b) for a, b in combinations(areas, 2))


@pytest.fixture
def view(qtbot: QtBot) -> BoxesView:
    boxes_view = on_screen(qtbot, BoxesView(), many(40))
    boxes_view.resize(900, 400)
    qtbot.waitUntil(boxes_view.pinned_axis.isVisible)
    return boxes_view


def _scroll(view: BoxesView) -> QScrollArea:
    (scroll,) = view.findChildren(QScrollArea)
    return scroll


def test_it_shows_what_stands_below_the_last_row(view: BoxesView) -> None:
    axis_widget, scroll = view.pinned_axis, _scroll(view)
    high = scroll.viewport().height()
    assert axis_widget.geometry().bottom() == high - 1
    axis_image = axis_widget.grab().toImage()
    axis = view.plots[0].getAxis("bottom")
    place = view.canvas.mapFromScene(axis.mapToScene(0.0, 0.0))
    view_image = view.canvas.viewport().grab().toImage()
    bars = range(place.x(), place.x() + round(axis.size().width()))
    rows = range(1, axis_widget.height() - 1)  # at its first row the grid ends
    differing = sum(
        axis_image.pixelColor(x, y) != view_image.pixelColor(x, place.y() + y)
        for x in bars
        for y in rows
    )
    assert differing == 0
    ground = view.theme.base
    ink_pixels = sum(axis_image.pixelColor(x, y).name() != ground for x in bars for y in rows)
    assert ink_pixels > 100, "numbers and not the ground alone"


class _Paints(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def eventFilter(self, _target: QObject, event: QEvent) -> bool:  # noqa: N802
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_what_rests_is_not_painted_again(view: BoxesView, qtbot: QtBot) -> None:
    qtbot.wait(200)
    paints = _Paints()
    for widget in (view.canvas.viewport(), view.pinned_axis):
        widget.installEventFilter(paints)
    qtbot.wait(300)
    assert paints.count == 0
    view.canvas.viewport().update()
    qtbot.wait(200)
    assert 0 < paints.count < 6
