"""Many series in rows that are named and scrolled through, and axes and their labels."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.plots.axes import LogAxis, NamesAxis, NinesAxis, time_axis
from app.gui.plots.histogram import HistogramView
from app.gui.plots.timeline import PANEL_PX, TimelineView
from app.gui.plots.trace import NameLayer
from tests.app.gui.plots.views import many, on_screen, redraw, turn_wheel


def test_many_series_stand_in_rows_that_are_named_and_few_are_filled(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), many(8))
    assert not view.panel.in_rows
    redraw(view, many(12))
    assert view.panel.in_rows
    names = view.plots[0].getAxis("left")
    assert isinstance(names, NamesAxis)
    assert list(names.names) == [f"batch {k}" for k in range(1, 13)]
    assert len(view.panel.columns.columns) == 12
    view.layout_choice.choose("overlaid")
    assert not view.panel.in_rows, "what was chosen holds for any number"
    for count, is_filled in ((12, False), (4, False), (3, True), (1, True)):
        redraw(view, many(count))
        assert {columns.is_filled for columns in view.panel.columns.columns} == {is_filled}


def test_forty_rows_are_scrolled_through_by_bar_wheel_and_keys(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), many(40))
    assert view.row_bar.isVisible()
    first, last = view.plots[0].viewRange()[1]
    assert last - first < 20
    low, high = view.plots[0].viewRange()[0]
    turn_wheel(view, -2, ctrl=True)
    zoomed_low, zoomed_high = view.plots[0].viewRange()[0]
    assert zoomed_high - zoomed_low < high - low and view.row_bar.value() == 0
    turn_wheel(view, 3)
    view.refresh()
    assert view.plots[0].viewRange()[1][0] == pytest.approx(first + 3)
    view.row_bar.setFocus()
    QTest.keyClick(view.row_bar, Qt.Key.Key_End)
    view.refresh()
    assert view.plots[0].viewRange()[1][1] > 39.0
    turn_wheel(view, 1)
    view.refresh()
    assert view.plots[0].viewRange()[1][1] > 39.0, "there is nothing beyond the last"


def test_the_timeline_of_forty_draws_what_is_in_sight_and_names_it(qtbot: QtBot) -> None:
    view = on_screen(qtbot, TimelineView(), many(40))
    names = [layer._name for layer in view._layers if isinstance(layer, NameLayer)]
    assert names == [f"batch {k}" for k in range(1, len(names) + 1)]
    assert 3 <= len(names) < 12
    assert len(view.plots) == len(names)
    assert min(plot.size().height() for plot in view.plots) > 0.6 * PANEL_PX
    read = view._traces[view.series[0].key, 0].envelope
    view.row_bar.setValue(20)
    view.refresh()
    names = [layer._name for layer in view._layers if isinstance(layer, NameLayer)]
    assert names[0] == "batch 21"
    view.row_bar.setValue(0)
    view.refresh()
    assert view._traces[view.series[0].key, 0].envelope is read, "nothing is read twice"


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
