"""The views of finished cases: what is compared, and what is kept out of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.cases.jobs import Operator, OperatorTimes
from app.gui.look.theme import LIGHT
from app.gui.plots.compare import CompareView, HistoryView
from app.gui.plots.figure_view import FigureLayer
from app.gui.plots.marks import NameLayer
from app.gui.plots.matrix import MatrixView, tile_color
from app.gui.plots.operators import OperatorsView, OperatorTime
from app.gui.plots.ranking import AccuracyView
from app.gui.plots.searches import LargestBatchView
from app.history.run_comparison import compare_runs
from app.history.trends import differences, read_history
from app.plot_data.series import number
from app.run_folder.diagnostics import diagnostic_columns
from app.runs.following.state import CaseDetails
from exporters.diagnostics.catalogue import diagnostic
from tests.app.columns.filled import MODEL
from tests.app.gui.plots.views import finished, on_screen, side
from tests.app.gui.synthetic import failed, series, summary_of
from tests.app.history.pasts import nights_at
from tests.app.run_folder.runs import CASE


def test_the_largest_batch_says_what_stopped_it(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LargestBatchView(), finished())
    largest_batches = {(row[0], row[1]): row[2:] for row in view.table()[1]}
    assert largest_batches["vgg16", "ort-cuda"] == [4, "4, out of memory at 8"]
    assert largest_batches["vgg16", "ort-cpu"] == [4, "4, none larger was tried"]


def test_accuracy_has_a_point_for_each_case_and_names_each_model_once(qtbot: QtBot) -> None:
    view = on_screen(qtbot, AccuracyView(), finished())
    view.batch_choice.choose("2")
    figure_layer, names = view._layers
    assert isinstance(figure_layer, FigureLayer) and isinstance(names, NameLayer)
    assert sorted(name for _, _, name in names._points if name) == ["alexnet", "vgg16"]
    assert len(names._points) == len(figure_layer.figure.marks) > 2, (
        "a name keeps clear of every mark"
    )
    rates = sorted(mark.x for mark in figure_layer.figure.marks)
    expected_rates = [
        number(case_series, "throughput_per_s") or 0.0
        for case_series in finished()
        if number(case_series, "batch_size") == 2
    ]
    assert rates == pytest.approx(sorted(expected_rates))


def test_heat_map_tiles_tell_the_distance_to_the_rows_best_and_failures_their_status(
    qtbot: QtBot,
) -> None:
    fast = series("ort-cpu", "m", count=20, latency_p50_us=10.0)
    slow = series("torch-cpu", "m", count=20, latency_p50_us=25.0)
    none = failed("fpga:v80", "m", "unsupported", "too large")
    view = on_screen(qtbot, MatrixView(), [fast, slow, none])
    cells = {cell.column: cell for cell in view._pivot().cells}
    assert cells[0].ratio == 1.0
    assert cells[1].ratio == pytest.approx(2.5)
    assert cells[2].ratio is None and view.table()[1] == [
        ["m", "10.0 µs", "25.0 µs", "unsupported"]
    ]
    assert tile_color(1.0, LIGHT).name() == LIGHT.accent
    assert tile_color(500.0, LIGHT) == tile_color(10.0, LIGHT)


def test_kinds_of_operators_are_sums_of_their_nodes(qtbot: QtBot) -> None:
    view = on_screen(qtbot, OperatorsView())
    view.set_operators(
        [
            OperatorTime("/a", "Conv", 3.0, 0.3, "CPU"),
            OperatorTime("/b", "Conv", 5.0, 0.5, "CPU"),
            OperatorTime("/c", "Relu", 2.0, 0.2, "CPU"),
        ],
        "net on ort-cpu",
        "wall",
    )
    view.group_choice.choose("op")
    assert [row[:5] for row in view.table()[1]] == [
        ["Conv", "Conv", 8.0, 0.8, "CPU"],
        ["Relu", "Relu", 2.0, 0.2, "CPU"],
    ]


def test_memory_and_waiting_of_operators_are_drawn_where_they_are_known(qtbot: QtBot) -> None:
    view = on_screen(qtbot, OperatorsView())
    rows = [
        OperatorTime("/a", "Conv", 3.0, 0.3, "CPU", peak_bytes=2_000_000, pool_wait_us=1.0),
        OperatorTime("/b", "Conv", 5.0, 0.5, "CPU", peak_bytes=3_000_000, pool_wait_us=4.0),
        OperatorTime("/c", "Relu", 2.0, 0.2, "CPU"),
    ]
    view.set_operators(rows, "net on ort-cpu", "wall")
    view.figure_choice.choose("memory")
    assert view.draw() == ""
    view.group_choice.choose("op")
    names, table = view.table()
    operators = {row[0]: dict(zip(names, row, strict=True)) for row in table}
    assert (operators["Conv"]["peak_bytes"], operators["Conv"]["pool_wait_us"]) == (3_000_000, 5.0)
    assert (operators["Relu"]["peak_bytes"], operators["Relu"]["pool_wait_us"]) == (None, None)
    view.set_operators([replace(row, pool_wait_us=None) for row in rows], "net", "wall")
    view.figure_choice.choose("waiting")
    assert view.draw(), "a sentence in place of bars that would all be zero"


def test_runs_are_paired_by_case_and_never_across_clocks(qtbot: QtBot) -> None:
    a = [series("ort-cpu", key="x", count=500), series("fpga:v80", key="y", count=500)]
    b = [
        series("ort-cpu", key="x", count=500, seed=7),
        series("fpga:v80", key="y", count=500, clock="simulated"),
        series("ort-cpu", key="z", count=500, threads=2),
    ]
    comparison = compare_runs(side("a", a, {}), side("b", b, {}))
    assert [case.label for case in comparison.cases] == ["cnn_tiny · ort-cpu"]
    assert set(comparison.cases[0].percentiles) == {"p50", "p99"}
    view = on_screen(qtbot, CompareView())
    view.set_runs(side("a", a, {}), side("b", (), {}))
    view.refresh()
    assert "no finished case in common" in view._missing.text()


def test_the_window_says_of_two_runs_what_the_command_line_says(qtbot: QtBot) -> None:
    a = [series("ort-cpu", count=2000), series("torch-cpu", count=2000)]
    b = [
        series("ort-cpu", count=2000, seed=7, median_us=26.0),
        series("torch-cpu", count=2000, seed=8, median_us=20.6),
    ]
    view = on_screen(qtbot, CompareView())
    view.set_runs(side("a", a, {}), side("b", b, {}))
    header, rows = view.table()
    comparisons = [dict(zip(header, row, strict=True)) for row in rows]
    assert [comparison["p50_verdict"] for comparison in comparisons] == ["slower", "undecided"]
    assert "measured apart" in str(comparisons[1]["p50_why"]), "3 % may be the machine's own"


def test_verdicts_of_a_run_that_was_looked_at_again_and_again_ask_for_more(qtbot: QtBot) -> None:
    widths = []
    for confidence in (0.95, 0.99):
        b = series(count=2000, seed=7, median_us=26.0)
        repeated_series = replace(b, summary=replace(summary_of(b), confidence=confidence))
        view = on_screen(qtbot, CompareView())
        view.set_runs(side("a", [series(count=2000)], {}), side("b", [repeated_series], {}))
        header, (row,) = view.table()
        values = dict(zip(header, row, strict=True))
        low, high = values["p50_ci_low"], values["p50_ci_high"]
        assert isinstance(low, float) and isinstance(high, float)
        widths.append(high / low)
    assert widths[1] > widths[0]


def test_environments_that_differ_are_named() -> None:
    a = {"cpu": {"governor": "performance", "model": "EPYC"}, "kernel": "6.8", "only_here": "1"}
    b = {"cpu": {"governor": "powersave", "model": "EPYC"}, "kernel": "6.8"}
    assert differences(a, b) == [
        ("cpu.governor", "performance", "powersave"),
        ("only_here", "1", "not known"),
    ]


def test_nothing_computes_beyond_the_machines_peak(qtbot: QtBot) -> None:
    """202 % of peak says that the peak is wrong, and was drawn as if sure."""
    view = on_screen(qtbot, OperatorsView())
    rows = [
        OperatorTime("/a", "Conv", 3.0, 0.6, "CPU", peak_share=2.02),
        OperatorTime("/b", "Conv", 2.0, 0.4, "CPU", peak_share=0.41),
    ]
    view.set_operators(rows, "net on ort-cpu", "wall")
    view.refresh()
    (layer,) = view._layers
    assert isinstance(layer, FigureLayer)
    texts = [bar.label for bar in layer.figure.marks]
    assert "202" not in texts[0] and "too low" in texts[0]
    assert "41% of peak" in texts[1]


def test_a_run_without_an_interval_is_an_open_dot_of_the_history(
    qtbot: QtBot, tmp_path: Path
) -> None:
    nights_at(tmp_path / "nights", [1.0, 1.0])
    history = read_history(tmp_path / "nights")
    view = on_screen(qtbot, HistoryView())
    view.set_history(history)
    view.set_case(CASE.case_id, "mlp")
    view.refresh()
    layer = view._layers[0]
    assert isinstance(layer, FigureLayer)
    (marks,) = (series.marks for series in layer.figure.series if series.name == "runs")
    points = next(t for t in history.trends if t.percentile == "p50").points
    assert [mark.is_hollow for mark in marks] == [not point.low_us for point in points]


def test_operators_that_exceed_the_run_are_marked_and_have_no_shares(
    qtbot: QtBot,
) -> None:
    operators = (Operator("/a", "Conv", 100.0, ""), Operator("/b", "Relu", 28.0, ""))
    case = Case("m", "ort-cpu")
    profile = OperatorTimes(case.case_id, runs=3, ops=operators)
    details = CaseDetails(case, MODEL, operators=profile)
    exceeding = diagnostic("operators_exceed_run", ratio=2.65)
    view = on_screen(qtbot, OperatorsView())
    texts, standings = [], []
    for doubts in ((), (exceeding,)):
        plain = series("ort-cpu", "m", count=20)
        row = {**plain.row, **diagnostic_columns(doubts)}
        view.set_details(details, replace(plain, row=row))
        view.draw_now()
        (layer,) = (layer for layer in view._layers if isinstance(layer, FigureLayer))
        texts.append([bar.label for bar in layer.figure.marks])
        standings.append({style.standing for style in layer._styles.values()})
    assert all("%" in text for text in texts[0]) and not any("%" in text for text in texts[1])
    assert standings == [{"sound"}, {"doubted"}]
