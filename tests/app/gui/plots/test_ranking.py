"""Ranking: the order of the rows, the clocks, and what is drawn of each case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.cases.objectives import BAND
from app.comparison.ranking import fastest
from app.formatting.text import latency
from app.gui.plots.ranking import RankingView
from app.gui.plots.summary import CardLayer, SummaryView
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.plots.views import figures_of, on_screen
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


def test_rows_are_sorted_clocks_apart_on_one_scale_and_hollow_where_in_doubt(
    qtbot: QtBot, cases: list[Series]
) -> None:
    view = on_screen(qtbot, RankingView(), cases)
    wall, simulated = (layer.figure for layer in figures_of(view))
    assert [name.split(",")[0] for name in wall.y.names] == [
        "ort-cpu", "openvino-cpu", "torch-cpu",
    ]  # fmt: skip
    assert simulated.y.names == ("fpga:v80",)
    assert (wall.title, simulated.title) == ("Wall clock", "Simulated")
    assert "1 case without" in view.heading._note, "a failure has no place, and is not hidden"
    dots = [s for s in (*wall.series, *simulated.series) if s.symbol == "circle"]
    hollow = {series.cases[0]: series.marks[0].is_hollow for series in dots}
    assert hollow == {"torch-cpu": False, "fpga:v80": True, "ort-cpu": True, "openvino-cpu": True}
    view.sort_choice.choose("plan")
    assert figures_of(view)[0].figure.y.names[0] == "torch-cpu"
    for figure in ("latency", "throughput_per_s"):
        view.figure_choice.choose(figure)
        first, second = (plot.viewRange()[0] for plot in view.plots)
        assert first == second
    view = on_screen(qtbot, RankingView(), cases[:1])
    assert [mark.label for mark in figures_of(view)[0].figure.marks] == ["25.0 µs", "75.0 µs"]
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


ORT, TORCH = _summarised("ort-cpu", 20.0), _summarised("torch-cpu", 40.0)
WAITING = failed("openvino-cpu", "m", "waiting", "")
NO_GPU = failed("ort-cuda", "m", "unavailable", "no GPU")


@pytest.mark.parametrize(
    ("cases", "sure", "is_sure", "verdict"),
    [
        ([TORCH, ORT, _summarised("openvino-cpu", 30.0)], "sure", True, "1.5"),
        ([_summarised(r, us, 2) for r, us in (("ort-cpu", 20.0), ("torch-cpu", 40.0))],
         "unsure: 2 rounds", False, ""),
        ([_summarised("ort-cpu", 20.0, warnings="busy"), TORCH], "", False, ""),
        ([TORCH, ORT, WAITING], "", False, "leads torch-cpu by 2.0"),
        ([ORT, _summarised("fpga:v80", 2.0, clock="simulated"), NO_GPU], "", False, ""),
    ],
    ids=["parted", "two rounds", "doubted", "goes on", "one to a clock"],
)  # fmt: skip
def test_a_card_of_the_summary_names_the_fastest_and_how_sure_that_is(
    qtbot: QtBot, cases: list[Series], sure: str, is_sure: bool, verdict: str
) -> None:
    view = on_screen(qtbot, SummaryView(), cases)
    (layer,) = (layer for layer in view._layers if isinstance(layer, CardLayer))
    cards = {card.leader: card for card in layer.cards}
    assert cards.keys() == {"ort-cpu"} | ({"fpga:v80"} if NO_GPU in cases else set())
    card = cards["ort-cpu"]
    assert card.is_sure is is_sure and card.sure.startswith(sure)
    assert card.verdict.startswith(verdict)
    assert is_sure or not card.sure.startswith("sure")
    assert card.is_doubted == ("warnings" in cases[0].row)
    if is_sure:
        (contest,) = fastest([case.measured for case in cases], BAND)
        assert contest.parted and contest.first == "ort-cpu"
        assert card.figure == latency(ORT.row["latency_p50_us"])
        assert card.keys == ("key of ort-cpu", "key of openvino-cpu")
        assert card.verdict.startswith(f"{contest.times:.2f}x as fast as openvino-cpu")
    if NO_GPU in cases:
        assert cards["fpga:v80"].is_simulated and not cards["fpga:v80"].is_sure
        assert "2 of 3 cases" in view.heading._note
