"""Ranking: the order of the rows, the clocks, and what is drawn of each case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.cases.objectives import BAND
from app.comparison.ranking import fastest
from app.formatting.text import latency
from app.gui.plots.figure_view import FigureLayer
from app.gui.plots.ranking import RankingView
from app.gui.plots.summary import Card, CardLayer, SummaryView
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import failed, series, summary_of


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


def _summarised(
    runtime: str, median_us: float, rounds: int = 4, clock: Clock = "wall", **row: Any
) -> Series:
    case_series = series(
        runtime, "m", key=f"key of {runtime}", count=2_000, rounds=rounds, median_us=median_us,
        clock=clock, seed=int(median_us), **row,
    )  # fmt: skip
    summary = summary_of(case_series)
    figures = {f"latency_{name}_us": summary.value_us(name) for name in ("p50", "p99")}
    return replace(
        case_series, label=f"m · {runtime}", row={**case_series.row, "valid": True, **figures}
    )


def _cards(view: SummaryView) -> tuple[Card, ...]:
    (layer,) = (layer for layer in view._layers if isinstance(layer, CardLayer))
    return layer.cards


def test_the_leader_is_the_one_that_the_run_calls_fastest(qtbot: QtBot) -> None:
    cases = [
        _summarised("torch-cpu", 40.0),
        _summarised("ort-cpu", 20.0),
        _summarised("openvino-cpu", 30.0),
    ]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    (contest,) = fastest([case.measured for case in cases], BAND)
    assert contest.parted and card.is_sure
    assert card.leader == contest.first == "ort-cpu"
    median = cases[1].row["latency_p50_us"]
    assert card.figure == latency(median)
    assert card.keys == ("key of ort-cpu", "key of openvino-cpu")
    assert card.verdict.startswith(f"{contest.times:.2f}x as fast as openvino-cpu")


def test_two_rounds_decide_nothing(qtbot: QtBot) -> None:
    cases = [_summarised("ort-cpu", 20.0, 2), _summarised("torch-cpu", 40.0, 2)]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    assert not card.is_sure
    assert card.sure.startswith("unsure: 2 rounds")


def test_what_cannot_be_compared_has_a_card_of_its_own(qtbot: QtBot) -> None:
    """A simulated card leads nobody, and failures lead nothing."""
    cases = [
        _summarised("ort-cpu", 20.0),
        _summarised("fpga:v80", 2.0, clock="simulated"),
        failed("ort-cuda", "m", "unavailable", "no GPU"),
    ]
    view = on_screen(qtbot, SummaryView(), cases)
    cards = {card.leader: card for card in _cards(view)}
    assert cards.keys() == {"ort-cpu", "fpga:v80"}
    assert cards["fpga:v80"].is_simulated and not cards["fpga:v80"].is_sure
    assert "2 of 3 cases" in view.heading._note


def test_a_doubted_leader_is_called_doubted(qtbot: QtBot) -> None:
    cases = [_summarised("ort-cpu", 20.0, warnings="busy"), _summarised("torch-cpu", 40.0)]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    assert card.is_doubted and not card.is_sure
    assert not card.sure.startswith("sure")


def test_nothing_is_judged_while_the_run_goes_on(qtbot: QtBot) -> None:
    waiting = failed("openvino-cpu", "m", "waiting", "")
    cases = [_summarised("torch-cpu", 40.0), _summarised("ort-cpu", 20.0), waiting]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    assert card.leader == "ort-cpu" and not card.is_sure
    assert card.verdict.startswith("leads torch-cpu by 2.0")
    assert card.keys == ("key of ort-cpu", "key of torch-cpu")
