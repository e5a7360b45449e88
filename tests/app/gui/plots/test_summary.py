"""Summary: who leads, by how much, and how sure that is, as the verdicts of the run have it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytestqt.qtbot import QtBot

from app.cases.objectives import BAND
from app.comparison.ranking import fastest
from app.formatting.text import latency
from app.gui.plots.summary import Card, CardLayer, SummaryView
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import failed, series, summary_of


def _case(
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
    cases = [_case("torch-cpu", 40.0), _case("ort-cpu", 20.0), _case("openvino-cpu", 30.0)]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    (contest,) = fastest([case.measured for case in cases], BAND)
    assert contest.parted and card.is_sure
    assert card.leader == contest.first == "ort-cpu"
    median = cases[1].row["latency_p50_us"]
    assert card.figure == latency(median)
    assert card.keys == ("key of ort-cpu", "key of openvino-cpu")
    assert card.verdict.startswith(f"{contest.times:.2f}x as fast as openvino-cpu")


def test_two_rounds_decide_nothing(qtbot: QtBot) -> None:
    cases = [_case("ort-cpu", 20.0, 2), _case("torch-cpu", 40.0, 2)]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    assert not card.is_sure
    assert card.sure.startswith("unsure: 2 rounds")


def test_while_rounds_are_read_nothing_is_said_of_them(qtbot: QtBot) -> None:
    first, second = _case("ort-cpu", 20.0), _case("torch-cpu", 40.0)
    view = on_screen(qtbot, SummaryView(), [first, replace(second, summary=None)])
    cards = _cards(view)
    assert not any(card.is_sure or card.verdict for card in cards)
    assert {card.sure for card in cards} == {"reading its rounds…"}


def test_what_cannot_be_compared_has_a_card_of_its_own(qtbot: QtBot) -> None:
    """A simulated card leads nobody, and failures lead nothing."""
    cases = [
        _case("ort-cpu", 20.0),
        _case("fpga:v80", 2.0, clock="simulated"),
        failed("ort-cuda", "m", "unavailable", "no GPU"),
    ]
    view = on_screen(qtbot, SummaryView(), cases)
    cards = {card.leader: card for card in _cards(view)}
    assert cards.keys() == {"ort-cpu", "fpga:v80"}
    assert cards["fpga:v80"].is_simulated and not cards["fpga:v80"].is_sure
    assert "2 of 3 cases" in view.heading._note


def test_a_doubted_leader_is_called_doubted(qtbot: QtBot) -> None:
    cases = [_case("ort-cpu", 20.0, warnings="busy"), _case("torch-cpu", 40.0)]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    assert card.is_doubted and not card.is_sure
    assert not card.sure.startswith("sure")


def test_nothing_is_judged_while_the_run_goes_on(qtbot: QtBot) -> None:
    waiting = failed("openvino-cpu", "m", "waiting", "")
    cases = [_case("torch-cpu", 40.0), _case("ort-cpu", 20.0), waiting]
    (card,) = _cards(on_screen(qtbot, SummaryView(), cases))
    assert card.leader == "ort-cpu" and not card.is_sure
    assert card.verdict.startswith("leads torch-cpu by 2.0")
    assert card.keys == ("key of ort-cpu", "key of torch-cpu")
