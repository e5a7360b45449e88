"""Axes, labels and intervals of plots, against what the numbers are."""

from __future__ import annotations

import math
from itertools import combinations

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QScrollArea
from pytestqt.qtbot import QtBot

from app.gui.plots.axes import (
    LogAxis,
    NinesAxis,
    time_axis,
)
from app.gui.plots.distributions import BoxesView
from app.gui.plots.figure_view import axis_item
from app.present.figure import Axis
from tests.app.gui.plots.views import many, on_screen


def _tick_labels(axis: LogAxis, low: float, high: float, size: float = 800.0) -> list[str]:
    """The labels that the axis prints between two values."""
    spacing, values = axis.tickValues(math.log10(low), math.log10(high), size)[0]
    return axis.tickStrings(values, 1.0, spacing)


def test_axes_print_units_at_every_zoom_and_give_each_nine_the_same_room(
    qapp: QApplication,
) -> None:
    axis = time_axis("bottom")
    assert _tick_labels(axis, 1e-7, 1e2, 400.0) == ["1 µs", "100 µs", "10 ms", "1 s", "100 s"]
    assert _tick_labels(axis, 9e-6, 2.1e-4) == ["10 µs", "20 µs", "50 µs", "100 µs", "200 µs"]
    zoomed = [f"10.{digit} µs" for digit in range(1, 6)]
    assert _tick_labels(axis, 1.01e-5, 1.055e-5, 350.0) == zoomed
    spacing, values = NinesAxis("bottom").tickValues(0.0, 4.2, 800.0)[0]
    texts = NinesAxis("bottom").tickStrings(values, 1.0, spacing)
    assert texts == ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]
    assert values[2:] == [1.0, 2.0, 3.0, 4.0]


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


class _Paints(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def eventFilter(self, _target: QObject, event: QEvent) -> bool:  # noqa: N802
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_the_axis_below_rows_that_scroll_shows_theirs_and_rests(qtbot: QtBot) -> None:
    view = on_screen(qtbot, BoxesView(), many(40))
    view.resize(900, 400)
    qtbot.waitUntil(view.pinned_axis.isVisible)
    axis, pinned = view.plots[0].getAxis("bottom"), view.pinned_axis
    (scroll,) = view.findChildren(QScrollArea)
    assert pinned.geometry().bottom() == scroll.viewport().height() - 1
    place = view.canvas.mapFromScene(axis.mapToScene(0.0, 0.0))
    room = QRect(place.x(), 1, round(axis.size().width()), pinned.height() - 2)  # no grid's end
    below = view.canvas.viewport().grab(room.translated(0, place.y())).toImage()
    assert pinned.grab(room).toImage() == below
    qtbot.wait(200)
    paints = _Paints()
    for widget in (view.canvas.viewport(), pinned):
        widget.installEventFilter(paints)
    qtbot.wait(300)
    assert paints.count == 0
    view.canvas.viewport().update()
    qtbot.wait(200)
    assert 0 < paints.count < 6
