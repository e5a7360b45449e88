"""The heat map over any two settings, and matrices that are larger than their view."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series
from app.capabilities.tuning.present import StepsView, files_of
from app.gui.look.overlay import plot_font
from app.gui.plots.figure_view import CapabilityView
from app.gui.plots.matrix import MatrixView, TileLayer
from app.runs.following.reader import RunReader
from app.runs.reader import read_run
from tests.app.capabilities.tuning.tuned_runs import found_in, new_tune, play
from tests.app.gui.plots.views import figures_of, on_screen, tuned, turn_wheel
from tests.app.gui.synthetic import case_of, series

COLUMNS, ROWS = 42, 40


ONE = series("ort-cpu", "m", count=10, rounds=1, finished=False)
"""What all cases have in common: to draw samples for each would take longer than the tests."""


def _case(model: str, option: int, p50_us: float, batch: int = 1) -> Series:
    settings = {"batch_size": batch, "options": f"distribution=normal_{option}_us"}
    row = {**ONE.row, **settings, "model": model, "latency_p50_us": p50_us}
    key, case = f"{model} {option} {batch}", case_of(model, "ort-cpu", settings)
    return replace(ONE, key=key, label=key, model=model, case=case, row=row)


@pytest.fixture
def view(qtbot: QtBot) -> MatrixView:
    """Forty models by 42 options: more than there is room for."""
    cases = [
        _case(f"model {row}", column, 1000.0 + row * column)
        for row in range(ROWS)
        for column in range(COLUMNS)
    ]
    return on_screen(qtbot, MatrixView(), cases)


def test_every_figure_in_sight_is_whole_and_bars_wheel_and_keys_scroll_to_the_others(
    view: MatrixView,
) -> None:
    (layer,) = (item for item in view.canvas.scene().items() if isinstance(item, TileLayer))
    metrics = QFontMetricsF(plot_font())
    rooms = [(tile, layer.rect_of(tile.row, tile.column)) for tile in layer._tiles]
    in_sight = [(tile, room) for tile, room in rooms if layer.boundingRect().contains(room)]
    assert len(in_sight) > 100
    for tile, room in in_sight:
        assert min(map(metrics.horizontalAdvance, tile.texts)) <= room.width() - 6.0
        assert metrics.height() <= room.height()
    horizontal, down = view._bars
    assert horizontal.isVisible() and down.isVisible()
    horizontal.setFocus()
    QTest.keyClick(horizontal, Qt.Key.Key_End)
    (_, right), _ = view.plots[0].viewRange()
    assert right == COLUMNS - 0.5
    turn_wheel(view, ROWS)
    _, (_, last) = view.plots[0].viewRange()
    assert last == ROWS - 0.5
    assert f" to {COLUMNS} of {COLUMNS}; rows " in view.heading._note, "a picture says so too"


def test_rows_and_columns_are_whatever_was_chosen(qtbot: QtBot) -> None:
    cases = [_case("m", option, 10.0 * option * b, b) for option in (1, 2) for b in (8, 1)]
    new_view = on_screen(qtbot, MatrixView(), cases)
    new_view.rows_choice.choose("batch_size")
    new_view.columns_choice.choose("option:distribution")
    assert new_view.batch_choice.isHidden(), "every batch is a row"
    header, rows = new_view.table()
    assert header == ["batch_size", "normal_1_us", "normal_2_us"]
    assert rows == [["1", "10.0 µs", "20.0 µs"], ["8", "80.0 µs", "160 µs"]]
    assert new_view.heading._title == "p50 latency of each batch by distribution"
    new_view.columns_choice.choose("batch_size")
    assert "not the same" in new_view._missing.text()


def test_a_bar_for_each_step_says_its_gain_and_what_to_doubt(qtbot: QtBot) -> None:
    view = on_screen(qtbot, CapabilityView(StepsView()), tuned())
    (layer,) = figures_of(view)
    assert [bar.x for bar in layer.figure.marks] == [130.0, 260.0, 262.0]
    first, better, doubtful_step = (bar.label for bar in layer.figure.marks)
    assert "times" not in first
    assert better.endswith("2.00 (1.900 to 2.100) times")
    assert doubtful_step.endswith("times, undecided")
    assert view.table()[1][1][:3] == ["vgg16", "batch 16", 260.0]


def test_a_followed_run_has_its_ladder_once_it_is_told(tmp_path: Path) -> None:
    with new_tune(tmp_path / "run", "p50", rounds=3) as folder:
        play(folder)
        with closing(RunReader(folder.path)) as reader:
            state = reader.poll()
            assert state is not None
            assert not any(case_series.found for case_series in state.series)
            for name, data in files_of(read_run(folder.path), found_in(folder)):
                folder.write(name, data)
            state = reader.poll()
        assert state is not None
        (ladder,) = [case_series.found["tune"] for case_series in state.series if case_series.found]
        assert ladder == found_in(folder).searches[0][1]
