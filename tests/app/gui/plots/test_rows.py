"""Many series: outlines where fills would mix, and rows that are named and scrolled through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.look.overlay import plot_font
from app.gui.plots.axes import NamesAxis
from app.gui.plots.distributions import BoxesView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.histogram_panels import ROW_PX
from app.gui.plots.scrolled import RowsView
from app.gui.plots.timeline import PANEL_PX, TimelineView
from app.gui.plots.trace import NameLayer
from app.present.figure import Axis, Figure
from tests.app.gui.plots.views import many, on_screen


def _show_rows(qtbot: QtBot, count: int) -> HistogramView:
    view = on_screen(qtbot, HistogramView(), many(count))
    view.layout_choice.choose("stacked")
    view.refresh()
    return view


def _turn_wheel(view: RowsView, steps: int, *, ctrl: bool = False) -> None:
    """The wheel over the middle of the plot, towards the user for what is below."""
    middle = QPointF(view.canvas.viewport().rect().center())
    modifier = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
    wheel_event = QWheelEvent(
        middle,
        view.canvas.viewport().mapToGlobal(middle),
        QPoint(),
        QPoint(0, -120 * steps),
        Qt.MouseButton.NoButton,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view.canvas.viewport(), wheel_event)


@pytest.mark.parametrize(("count", "filled"), [(1, True), (3, True), (4, False), (12, False)])
def test_fills_are_left_out_where_they_would_mix(qtbot: QtBot, count: int, filled: bool) -> None:
    view = on_screen(qtbot, HistogramView(), many(count))
    view.layout_choice.choose("overlaid")
    assert {columns.is_filled for columns in view.panel.columns.columns} == {filled}


def test_more_series_than_can_be_told_apart_over_each_other_stand_in_rows(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), many(8))
    assert not view.panel.in_rows
    view.set_series(many(9))
    view.refresh()
    assert view.panel.in_rows
    view.layout_choice.choose("overlaid")
    assert not view.panel.in_rows, "what was chosen holds for any number"


def test_twelve_rows_are_named_high_enough_and_share_one_title_and_axis(qtbot: QtBot) -> None:
    view = _show_rows(qtbot, 12)
    (plot,) = view.plots
    names = plot.getAxis("left")
    assert isinstance(names, NamesAxis)
    assert list(names.names) == [f"batch {k}" for k in range(1, 13)]
    assert len(view.panel.columns.columns) == 12
    tall = abs(view.panel.columns.y_px(1.0) - view.panel.columns.y_px(0.0))
    assert tall >= 0.9 * ROW_PX
    assert "all rows to one scale" in names.labelText


def test_forty_rows_are_scrolled_through_by_bar_wheel_and_keys(qtbot: QtBot) -> None:
    view = _show_rows(qtbot, 40)
    assert view.row_bar.isVisible()
    first, last = view.plots[0].viewRange()[1]
    assert last - first < 20
    _turn_wheel(view, 3)
    view.refresh()
    assert view.plots[0].viewRange()[1][0] == pytest.approx(first + 3)
    view.row_bar.setFocus()
    QTest.keyClick(view.row_bar, Qt.Key.Key_End)
    view.refresh()
    assert view.plots[0].viewRange()[1][1] > 39.0
    _turn_wheel(view, 1)
    view.refresh()
    assert view.plots[0].viewRange()[1][1] > 39.0, "there is nothing beyond the last"


def test_the_wheel_zooms_with_ctrl_and_where_nothing_is_to_be_scrolled(qtbot: QtBot) -> None:
    many_rows, few = _show_rows(qtbot, 40), _show_rows(qtbot, 2)
    for view, ctrl in ((many_rows, True), (few, False)):
        low, high = view.plots[0].viewRange()[0]
        _turn_wheel(view, -2, ctrl=ctrl)
        zoomed_range = view.plots[0].viewRange()[0]
        assert zoomed_range[1] - zoomed_range[0] < high - low
        assert view.row_bar.value() == 0


def test_a_ridge_is_as_high_as_its_samples_on_the_scale_of_all(qtbot: QtBot) -> None:
    view = _show_rows(qtbot, 3)
    assert max(_heights(view)) == pytest.approx(0.86)
    view.log_box.setChecked(False)
    counts = [int(case_series.counts.max()) for case_series in view.series]
    assert _heights(view) == pytest.approx([0.86 * count / max(counts) for count in counts])


def _heights(view: HistogramView) -> list[float]:
    return [columns.floor - float(columns.tops.min()) for columns in view.panel.columns.columns]


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
    labels = [plot.getAxis("left").labelText for plot in view.plots]
    assert not any(labels), "one title for all of them stands beside them"
    view.row_bar.setValue(0)
    view.refresh()
    assert view._traces[view.series[0].key, 0].envelope is read, "nothing is read twice"


def test_box_plots_of_forty_scroll_and_go_by_what_sets_them_apart(qtbot: QtBot) -> None:
    view = on_screen(qtbot, BoxesView(), many(40))
    assert view.canvas.minimumHeight() > 40 * 25 > view.height()
    names = view.plots[0].getAxis("left")
    assert isinstance(names, NamesAxis)
    assert names.names[3] == "batch 4", "the clock that all share is in the heading"
    assert "mlp · ort-cpu" in view.heading._note and "wall clock" in view.heading._note


def _names_axis(view: BoxesView, names: Sequence[str]) -> NamesAxis:
    """The axis of a figure with these rows."""
    figure = Figure("", Axis(), Axis(names=tuple(names)), ())
    (plot,) = view.show_figures([figure], {})
    axis = plot.getAxis("left")
    assert isinstance(axis, NamesAxis)
    return axis


@pytest.fixture
def large_letters(qapp: QApplication) -> Iterator[None]:
    usual = QApplication.font()
    large = QFont(usual)
    large.setPointSizeF(1.75 * usual.pointSizeF())
    QApplication.setFont(large)
    yield
    QApplication.setFont(usual)


@pytest.mark.usefixtures("large_letters")
def test_a_low_plot_with_large_letters_has_half_of_its_view(qtbot: QtBot) -> None:
    """Legend and texts of marks took it, where a window of 900x560 left the view 250 pixels."""
    for view in (HistogramView(), TimelineView()):
        on_screen(qtbot, view, many(40))
        view.resize(880, 300)
        QApplication.processEvents()
        view.refresh()
        QApplication.processEvents()
        assert view.legend.size().height() < 0.25 * view.canvas.height()
        high = [plot.getViewBox().rect().height() for plot in view.plots]
        assert sum(high) > 0.3 * view.canvas.height()
        assert min(high) > 2.5 * QFontMetricsF(plot_font()).height()


@pytest.mark.usefixtures("large_letters")
def test_rows_whose_names_begin_and_end_alike_are_told_apart_in_large_letters(qtbot: QtBot) -> None:
    """Of forty, each lost its middle, and with it all that set it apart."""
    view = on_screen(qtbot, BoxesView(), many(40))
    long_names = [f"a_network · openvino-cpu · batch {k} · 16 threads" for k in range(40)]
    names = _names_axis(view, [f"{name} (wall clock, doubted)" for name in long_names])
    assert len(set(names.names)) == 40
    assert names.names[12].endswith("b12 · 16t !")


def test_a_wide_view_leaves_its_names_whole(qtbot: QtBot) -> None:
    view = on_screen(qtbot, BoxesView(), many(40))
    long = [
        f"{case_series.label} with an option of its own that is long" for case_series in view.series
    ]

    def axis_label(width: int) -> str:
        view.resize(width, 500)
        return _names_axis(view, long).names[0]

    assert axis_label(2400) == long[0]
    assert axis_label(700) != long[0]
    view.refresh()
    view.resize(2400, 500)
    assert view._dirty, "there is other room for names"


def test_marks_name_their_series_where_there_are_several(qtbot: QtBot) -> None:
    view = on_screen(qtbot, HistogramView(), many(2))
    texts = [mark.text for mark in view.mark_layer.marks]
    assert all(text.startswith(("batch 1 p", "batch 2 p")) for text in texts)
    view.set_series(many(1))
    view.refresh()
    assert all(mark.text.startswith("p") for mark in view.mark_layer.marks)
