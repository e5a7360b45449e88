"""Views of finished cases: their order, what is compared, and what is kept out of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.analysis.comparison.ranking import fastest
from app.analysis.plot_data.series import Series
from app.capabilities.largest_batch.present import LargestBatchView
from app.cases.case import Case
from app.cases.jobs import Operator, OperatorTimes
from app.cases.objectives import BAND
from app.formatting.text import latency
from app.gui.look.overlay import plot_font
from app.gui.look.theme import LIGHT
from app.gui.plots.base import PlotView
from app.gui.plots.compare import CompareView
from app.gui.plots.figure_view import CapabilityView
from app.gui.plots.matrix import MatrixView, TileLayer, tile_color
from app.gui.plots.operators import OperatorsView, OperatorTime
from app.gui.plots.ranking import RankingView
from app.gui.plots.summary import CardLayer, SummaryView
from app.run_folder.diagnostics import diagnostic_columns
from app.runs.following.state import CaseDetails
from exporters.diagnostics import diagnostic
from runtimes.execution import Clock
from tests.app.analysis.columns.filled import MODEL
from tests.app.gui.plots.views import figures_of, finished, on_screen, side, turn_wheel
from tests.app.gui.synthetic import case_of, failed, series, summary_of, with_figures


def _table(view: PlotView) -> list[dict[str, object]]:
    header, rows = view.table()
    return [dict(zip(header, row, strict=True)) for row in rows]


def _case(runtime: str, p50_us: float, clock: Clock = "wall", **row: object) -> Series:
    base = series(runtime, "m", key=runtime, count=20, rounds=1, clock=clock, finished=False)
    ends = {"latency_p50_ci_low_us": 0.9 * p50_us, "latency_p50_ci_high_us": 1.1 * p50_us}
    figures = {"latency_p50_us": p50_us, "latency_p99_us": 3.0 * p50_us, **ends}
    throughput = {"throughput_per_s": 1e6 / p50_us}
    return replace(base, label=f"m · {runtime}", row={**base.row, **figures, **throughput, **row})


@pytest.fixture
def cases() -> list[Series]:
    return [
        _case("torch-cpu", 25.0),
        _case("fpga:v80", 0.5, "simulated"),
        _case("ort-cpu", 10.0, warnings="busy"),
        replace(failed("ort-cuda", "m", "unavailable", "no GPU"), label="m · ort-cuda"),
    ]


def test_rows_are_sorted_clocks_apart_on_one_scale_and_hollow_where_in_doubt(
    qtbot: QtBot, cases: list[Series]
) -> None:
    view = on_screen(qtbot, RankingView(), cases)
    wall, simulated = (layer.figure for layer in figures_of(view))
    assert [name.split(",")[0] for name in wall.y.names] == ["ort-cpu", "torch-cpu"]
    assert simulated.y.names == ("fpga:v80",)
    assert (wall.title, simulated.title) == ("Wall clock", "Simulated")
    assert "1 case without" in view.heading._note, "a failure has no place, and is not hidden"
    dots = [s for s in (*wall.series, *simulated.series) if s.symbol == "circle"]
    hollow = {series.cases[0]: series.marks[0].is_hollow for series in dots}
    assert hollow == {"torch-cpu": False, "fpga:v80": True, "ort-cpu": True}
    for figure in ("latency", "throughput_per_s"):
        view.figure_choice.choose(figure)
        assert view.plots[0].viewRange()[0] == view.plots[1].viewRange()[0]
        assert figures_of(view)[0].figure.y.names[0].startswith("ort-cpu"), "the most is first"
    view.sort_choice.choose("plan")
    assert figures_of(view)[0].figure.y.names[0] == "torch-cpu"
    view = on_screen(qtbot, RankingView(), cases[:1])
    assert [mark.label for mark in figures_of(view)[0].figure.marks] == ["25.0 µs", "75.0 µs"]
    (values,) = _table(view)
    assert (values["latency_p50_us"], values["latency_p50_ci_low_us"]) == (25.0, 22.5)


def _summarised(
    runtime: str, median_us: float, rounds: int = 4, clock: Clock = "wall", **row: Any
) -> Series:
    case_series = series(
        runtime, "m", key=f"key of {runtime}", count=2_000, rounds=rounds, median_us=median_us,
        clock=clock, seed=int(median_us), valid=True, **row,
    )  # fmt: skip
    return replace(with_figures(case_series), label=f"m · {runtime}")


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
        assert card.figure == latency(ORT.row["latency_p50_us"])
        assert card.keys == ("key of ort-cpu", "key of openvino-cpu")
        assert card.verdict.startswith(f"{contest.times:.2f}x as fast as openvino-cpu")
    if NO_GPU in cases:
        assert cards["fpga:v80"].is_simulated and not cards["fpga:v80"].is_sure
        assert "2 of 3 cases" in view.heading._note


def test_a_search_says_what_stopped_it_and_a_tile_how_far_it_is_from_the_best(
    qtbot: QtBot,
) -> None:
    view = on_screen(qtbot, CapabilityView(LargestBatchView()), finished())
    largest_batches = {(row[0], row[1]): row[2:] for row in view.table()[1]}
    assert largest_batches["vgg16", "ort-cuda"] == [4, "4, out of memory at 8"]
    assert largest_batches["vgg16", "ort-cpu"] == [4, "4, none larger was tried"]
    assert tile_color(500.0, LIGHT) == tile_color(10.0, LIGHT) != tile_color(2.0, LIGHT)


def test_kinds_of_operators_are_sums_of_their_nodes_and_nothing_is_drawn_beyond_what_is_known(
    qtbot: QtBot,
) -> None:
    view = on_screen(qtbot, OperatorsView())
    figures = (("/a", 3.0, 2_000_000, 1.0, 2.02), ("/b", 5.0, 3_000_000, 4.0, 0.41))
    ops = [
        Operator(
            name, "Conv", us, "", peak_bytes=peak_bytes, pool_wait_us=wait_us, roof_us=share * us
        )
        for name, us, peak_bytes, wait_us, share in figures
    ]
    ops.append(Operator("/c", "Relu", 2.0, ""))
    rows = [OperatorTime(op, op.time_us / 10, "CPU") for op in ops]
    view.set_operators(rows, "net on ort-cpu", "wall")
    view.refresh()
    texts = [bar.label for bar in figures_of(view)[0].figure.marks]
    assert any("too low" in text for text in texts) and not any("202" in text for text in texts)
    assert any("41% of peak" in text for text in texts)
    view.figure_choice.choose("memory")
    assert view.draw() == ""
    view.group_choice.choose("op")
    names, table = view.table()
    assert [row[:5] for row in table] == [
        ["Conv", "Conv", 8.0, 0.8, "CPU"],
        ["Relu", "Relu", 2.0, 0.2, "CPU"],
    ]
    columns = names.index("peak_bytes"), names.index("pool_wait_us")
    assert [[row[k] for k in columns] for row in table] == [[3_000_000, 5.0], [None, None]]
    view.set_operators(
        [replace(row, own=replace(row.own, pool_wait_us=None)) for row in rows], "net", "wall"
    )
    view.figure_choice.choose("waiting")
    assert view.draw(), "a sentence in place of bars that would all be zero"


def test_two_runs_are_paired_by_case_and_clock_and_judged_as_the_command_line_does(
    qtbot: QtBot,
) -> None:
    def compared(first: list[Series], second: list[Series]) -> list[dict[str, object]]:
        view.set_runs(side("a", first, {}), side("b", second, {}))
        return _table(view)

    view = on_screen(qtbot, CompareView())
    a = [series(name, count=2000) for name in ("ort-cpu", "torch-cpu", "fpga:v80")]
    b = [
        series("ort-cpu", count=2000, seed=7, median_us=26.0),
        series("torch-cpu", count=2000, seed=8, median_us=20.6),
        series("fpga:v80", count=500, clock="simulated"),
        series("ort-cpu", key="z", count=500, threads=2),
    ]
    rows = compared(a, b)
    assert [row["p50_verdict"] for row in rows] == ["slower", "undecided"], "never across clocks"
    assert "measured apart" in str(rows[1]["p50_why"]), "3 % may be the machine's own"
    again = replace(b[0], summary=replace(summary_of(b[0]), confidence=0.99))
    (row,) = compared(a[:1], [again])
    widths = [float(str(r["p50_ci_high"])) / float(str(r["p50_ci_low"])) for r in (rows[0], row)]
    assert widths[1] > widths[0], "a run that was looked at again and again asks for more"
    view.refresh()
    entries = {entry.text: entry for entry in view.legend._entries}
    assert list(entries) == ["second faster", "second slower", "same", "undecided"]
    fills = [entry.brush.color().name() for entry in entries.values() if entry.brush is not None]
    assert len(set(fills)) == 4, "what is undecided is not what is the same"
    assert not compared(a, [])
    view.refresh()
    assert "no finished case in common" in view._missing.text()


def test_operators_that_exceed_the_run_are_marked_and_have_no_shares(qtbot: QtBot) -> None:
    operators = (Operator("/a", "Conv", 100.0, ""), Operator("/b", "Relu", 28.0, ""))
    case, plain = Case("m", "ort-cpu"), series("ort-cpu", "m", count=20)
    details = CaseDetails(case, MODEL, operators=OperatorTimes(case.case_id, runs=3, ops=operators))
    exceeding = diagnostic("operators_exceed_run", ratio=2.65)
    view = on_screen(qtbot, OperatorsView())
    for doubts, standing in (((), "sound"), ((exceeding,), "doubted")):
        row = {**plain.row, **diagnostic_columns(doubts)}
        view.set_details(details, replace(plain, row=row))
        view.draw_now()
        (layer,) = figures_of(view)
        assert {"%" in bar.label for bar in layer.figure.marks} == {not doubts}
        assert {style.standing for style in layer._styles.values()} == {standing}


COLUMNS, ROWS = 42, 40


ONE = series("ort-cpu", "m", count=10, rounds=1, finished=False)
"""What all cases have in common: to draw samples for each would take longer than the tests."""


def _cell(model: str, option: int, p50_us: float, batch: int = 1) -> Series:
    settings = {"batch_size": batch, "options": f"distribution=normal_{option}_us"}
    row = {**ONE.row, **settings, "model": model, "latency_p50_us": p50_us}
    key, case = f"{model} {option} {batch}", case_of(model, "ort-cpu", settings)
    return replace(ONE, key=key, label=key, model=model, case=case, row=row)


def test_every_figure_in_sight_is_whole_and_bars_wheel_and_keys_scroll_to_the_others(
    qtbot: QtBot,
) -> None:
    places = product(range(ROWS), range(COLUMNS))
    cases = [_cell(f"model {row}", column, 1000.0 + row * column) for row, column in places]
    view = on_screen(qtbot, MatrixView(), cases)
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
    cases = [_cell("m", option, 10.0 * option * b, b) for option in (1, 2) for b in (8, 1)]
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
