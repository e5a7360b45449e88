"""Ranking: the order of the rows, the clocks, and what is drawn of each case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.look.theme import LIGHT
from app.gui.plots.figure_view import FigureLayer
from app.gui.plots.ranking import RankingView
from app.gui.plots.style import series_styles
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import failed, series


def _case(runtime: str, p50_us: float, clock: Clock = "wall", **row: object) -> Series:
    base_series = series(runtime, "m", key=runtime, count=20, rounds=1, clock=clock, finished=False)
    figures: dict[str, object] = {
        "latency_p50_us": p50_us,
        "latency_p50_ci_low_us": 0.9 * p50_us,
        "latency_p50_ci_high_us": 1.1 * p50_us,
        "latency_p99_us": 3.0 * p50_us,
        "throughput_per_s": 1e6 / p50_us,
    }
    labelled_series = replace(base_series, label=f"m · {runtime}")
    return replace(labelled_series, row={**base_series.row, **figures, **row})


@pytest.fixture
def cases() -> list[Series]:
    return [
        _case("torch-cpu", 25.0),
        _case("fpga:v80", 0.5, "simulated"),
        _case("ort-cpu", 10.0, warnings="busy"),
        _case("openvino-cpu", 12.0, latency_p50_ci_low_us=None, latency_p50_ci_high_us=None),
        replace(failed("ort-cuda", "m", "unavailable", "no GPU"), label="m · ort-cuda"),
    ]


def _layers(view: RankingView) -> list[FigureLayer]:
    return [layer for layer in view._layers if isinstance(layer, FigureLayer)]


def test_rows_are_sorted_and_simulated_ones_below_what_was_measured(
    qtbot: QtBot, cases: list[Series]
) -> None:
    view = on_screen(qtbot, RankingView(), cases)
    wall, simulated = (layer.figure for layer in _layers(view))
    assert [name.split(",")[0] for name in wall.y.names] == [
        "ort-cpu",
        "openvino-cpu",
        "torch-cpu",
    ]
    assert simulated.y.names == ("fpga:v80",)
    assert (wall.title, simulated.title) == ("Wall clock", "Simulated")
    assert "1 case without" in view.heading._note, "a failure has no place, and is not hidden"
    view.sort_choice.choose("plan")
    assert _layers(view)[0].figure.y.names[0] == "torch-cpu"


def test_all_clocks_have_one_scale(qtbot: QtBot, cases: list[Series]) -> None:
    """Bars of 5.86k/s and 382k/s were once equally long: each clock filled an axis of its own."""
    view = on_screen(qtbot, RankingView(), cases)
    for figure in ("latency", "throughput_per_s"):
        view.figure_choice.choose(figure)
        first, second = (plot.viewRange()[0] for plot in view.plots)
        assert first == second


def test_what_is_doubted_simulated_or_of_one_round_is_hollow(
    qtbot: QtBot, cases: list[Series]
) -> None:
    view = on_screen(qtbot, RankingView(), cases)
    hollow = {
        series.cases[0]: series.marks[0].is_hollow
        for layer in _layers(view)
        for series in layer.figure.series
        if series.symbol == "circle"
    }
    assert hollow == {"torch-cpu": False, "fpga:v80": True, "ort-cpu": True, "openvino-cpu": True}


def test_p50_and_p99_stand_beside_each_row_as_the_table_has_them(
    qtbot: QtBot, cases: list[Series]
) -> None:
    view = on_screen(qtbot, RankingView(), cases[:1])
    labels = [mark.label for mark in _layers(view)[0].figure.marks]
    assert labels == ["25.0 µs", "75.0 µs"]
    header, rows = view.table()
    values = dict(zip(header, rows[0], strict=True))
    assert (values["latency_p50_us"], values["latency_p50_ci_low_us"]) == (25.0, 22.5)


def test_a_case_has_the_colour_that_it_has_elsewhere(qtbot: QtBot, cases: list[Series]) -> None:
    view = on_screen(qtbot, RankingView(), cases)
    usual = series_styles(cases, LIGHT)
    for layer in _layers(view):
        for marks in layer.figure.series:
            assert layer._styles[marks.name].color == usual[marks.cases[0]].color


def test_rows_keep_their_height_in_a_low_window(qtbot: QtBot, cases: list[Series]) -> None:
    view = on_screen(qtbot, RankingView(), cases)
    view.resize(880, 260)
    QApplication.processEvents()
    for plot, rows in zip(view.plots, (3, 1), strict=True):
        assert plot.getViewBox().rect().height() >= 18 * rows
