"""Reading and marking in the whole window: plots, table and tree tell the same cases."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.plots.base import PlotView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.read.reading import Brush
from app.gui.window import MainWindow
from tests.app.gui.runs import measured_run, steady
from tests.app.gui.windows import open_run, seen, wait_for_summaries

CASES = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in (1, 2, 3))


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> MainWindow:
    """Three cases; in the first every hundredth sample stalls for a millisecond."""

    def latencies_us(place: int, number: int) -> list[float]:
        plain = steady(place, number)
        return plain if place else [1000.0 if k % 100 == 99 else us for k, us in enumerate(plain)]

    open_run(window, qtbot, measured_run(tmp_path / "run", CASES, latencies_us))
    wait_for_summaries(window, qtbot)
    return window


def _is_lit(view: PlotView) -> bool:
    return bool(view.plots) and not view.lit_stale


def test_what_is_clicked_in_a_plot_is_selected_in_the_table_and_framed_in_plots_of_all(
    opened: MainWindow, qtbot: QtBot
) -> None:
    first, second, third = (case.case_id for case in CASES)
    opened.frame.show_key("matrix")
    heat = opened.views.by_key["matrix"]
    qtbot.waitUntil(lambda: bool(heat.plots), timeout=10_000)
    image_before = heat.canvas.grab().toImage()
    heat.picked.emit((second,), False)
    assert opened.table.selected_keys() == [second]
    (layer,) = heat.crosshair._framed.values()
    assert [spot.keys for spot in layer.spots] == [(second,)]
    assert heat.canvas.grab().toImage() != image_before
    opened.table.select([])
    assert not layer.spots
    heat.picked.emit((second,), False)
    heat.picked.emit((third,), True)
    assert opened.table.selected_keys() == [second, third]
    qtbot.wait(250)
    assert seen(opened).visible_keys == (first, second, third), "a click takes nothing out"
    opened.table.select([first])
    qtbot.waitUntil(lambda: seen(opened).visible_keys == (first,), timeout=10_000)
    opened.table.filter_box.setText("threads=2")
    heat.picked.emit((third,), False)
    assert opened.table.filter_box.text() == "", "a row that the filter hides is shown again"
    qtbot.waitUntil(lambda: seen(opened).visible_keys == (third,), timeout=10_000)


def test_a_marked_range_lights_the_same_iterations_in_every_view(
    opened: MainWindow, qtbot: QtBot
) -> None:
    opened.views.by_key["histogram"].brushed.emit(Brush("latency", 500e-6, 2e-3))
    for key in ("histogram", "percentiles", "timeline"):
        opened.frame.show_key(key)
        view = opened.views.by_key[key]
        qtbot.waitUntil(partial(_is_lit, view), timeout=10_000)
        assert view.lit is opened.feed.lit
        readout = view.crosshair.box.plain
        assert "4 samples, 1.0 % of the samples" in readout and "every 6.25 ms" in readout, key
    timeline = opened.views.by_key["timeline"]
    timeline.drop_readout()
    assert opened.feed.lit is None
    assert all(view.lit is None for view in opened.views.shown)


def _swatch(window: MainWindow, key: str) -> QColor:
    """The colour in the middle of the swatch that the table has for a case."""
    model = window.table.model
    row = [entry.key for entry in model.series].index(key)
    column = [entry.key for entry in model.columns].index("runtime")
    picture = model.index(row, column).data(Qt.ItemDataRole.DecorationRole)
    assert isinstance(picture, QIcon)
    image = picture.pixmap(14, 14, QIcon.Mode.Selected).toImage()
    return image.pixelColor(image.width() // 2, image.height() // 2)


def test_list_plots_and_table_tell_the_same_series_by_the_same_colours(
    opened: MainWindow, qtbot: QtBot
) -> None:
    first, second, third = (case.case_id for case in CASES)
    opened.frame.show_key("histogram")
    opened.table.select([first, second])
    rows = opened.series_list.rows
    assert [line.key for line in rows.lines] == [first, second, third]
    assert rows.selected_keys() == [first, second], "as in the table"
    view = opened.views.by_key["histogram"]
    assert isinstance(view, HistogramView)
    qtbot.waitUntil(lambda: view.styles().keys() == {first, second}, timeout=20_000)
    for line in rows.lines[:2]:
        assert line.style == view.styles()[line.key]
        assert _swatch(opened, line.key) == line.style.color
    assert _swatch(opened, third) == QColor(view.theme.base), "an empty frame: it is in no plot"
