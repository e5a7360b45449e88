"""The axis of a plot that is higher than the window stays in sight."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from app.gui.plots.boxes import BoxesView
from tests.app.gui.plots.grids import many
from tests.app.gui.plots.views import on_screen


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


def test_it_goes_where_the_axis_itself_is_in_sight(view: BoxesView, qtbot: QtBot) -> None:
    bar = _scroll(view).verticalScrollBar()
    bar.setValue(bar.maximum())
    qtbot.waitUntil(lambda: not view.pinned_axis.isVisible())
    bar.setValue(bar.maximum() // 2)
    qtbot.waitUntil(view.pinned_axis.isVisible)
    view.resize(900, 3_000)
    qtbot.waitUntil(lambda: not view.pinned_axis.isVisible())


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
