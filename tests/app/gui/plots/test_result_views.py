"""The views of finished cases: what is compared, and what is kept out of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.capabilities.simulated_card.inference import CardRun
from app.cases.jobs import Operator, OperatorTimes
from app.gui.look.plot_font import plot_font
from app.gui.look.theme import LIGHT
from app.gui.plots.accuracy import AccuracyView
from app.gui.plots.bars import BarLayer
from app.gui.plots.batch import BatchView
from app.gui.plots.compare import CompareView
from app.gui.plots.devices import DevicesView
from app.gui.plots.heat_tiles import tile_color
from app.gui.plots.heatmap import HeatmapView
from app.gui.plots.largest import LargestBatchView
from app.gui.plots.operators import OperatorsView, OperatorTime, operator_times
from app.gui.plots.points import NameLayer
from app.gui.plots.style import series_styles
from app.history.run_comparison import compare_runs
from app.history.trends import differences
from app.plot_data.series import number, ranked, variants
from runtimes.execution import NodeResources
from tests.app.gui.plots.views import CARD_RUN, finished, on_screen, side
from tests.app.gui.synthetic import failed, series, summary_of


def test_only_whole_and_right_rows_are_ranked() -> None:
    good = series(key="good", count=20)
    partial = replace(good, key="partial", status="partial")
    wrong = replace(good, key="wrong", status="wrong_output")
    invalid = replace(good, key="invalid", row={**good.row, "valid": "False"})
    assert [one.key for one in ranked([good, partial, wrong, invalid])] == ["good"]


def test_numbers_are_read_from_csv_texts_as_from_values() -> None:
    one = replace(series(count=20), row={"a": "2.5", "b": 3, "c": "", "d": "nan", "e": None})
    assert [number(one, name) for name in "abcdef"] == [2.5, 3.0, None, None, None, None]


def test_variants_name_only_what_differs() -> None:
    one = series(key="1", count=20, threads=1, precision="fp32")
    two = series(key="2", count=20, threads=2, precision="fp32", batch_size=4)
    assert variants([one, two]) == {"1": "ort-cpu 1 thread", "2": "ort-cpu 2 threads"}
    assert variants([one]) == {"1": "ort-cpu"}


def test_a_grid_has_one_plot_per_model_with_a_line_per_runtime(qtbot: QtBot) -> None:
    view = on_screen(qtbot, BatchView(), finished())
    assert len(view.plots) == 2
    for plot in view.plots:
        lines = [item for item in plot.listDataItems() if len(item.xData)]
        assert len(lines) == 2
        assert [10.0**x for x in lines[0].xData] == pytest.approx([1.0, 2.0, 4.0])
    view.figure_choice.choose("p99")
    shown = 10.0 ** view.plots[0].listDataItems()[0].yData[0] * 1e6
    assert shown == pytest.approx(number(finished()[0], "latency_p99_us"))


def test_devices_are_ordered_by_throughput_for_the_chosen_model(qtbot: QtBot) -> None:
    view = on_screen(qtbot, DevicesView(), finished())
    assert {view.model_choice.itemData(k) for k in range(2)} == {"alexnet", "vgg16"}
    view.model_choice.choose("vgg16")
    (layer,) = view._layers
    assert isinstance(layer, BarLayer)
    values = [bar.value or 0.0 for bar in layer._bars]
    assert len(values) == 2
    assert values == sorted(values, reverse=True)


def test_a_case_has_the_same_colour_however_fast_it_is(qtbot: QtBot) -> None:
    """The fastest of a runtime's cases had its first shade, whichever it was elsewhere."""
    one = series("ort-cpu", "vgg16", count=400, rounds=1)
    cases = [
        replace(
            one,
            key=f"{threads} threads",
            case=replace(one.case, threads=threads),
            row={**one.row, "threads": threads, "throughput_per_s": 1e3 * threads},
        )
        for threads in (1, 2, 4)
    ]
    usual = series_styles(cases, LIGHT)
    (layer,) = on_screen(qtbot, DevicesView(), cases)._layers
    assert isinstance(layer, BarLayer)
    assert [bar.keys[0] for bar in layer._bars] == ["4 threads", "2 threads", "1 threads"]
    assert {bar.keys[0]: bar.style.color.name() for bar in layer._bars} == {
        key: style.color.name() for key, style in usual.items()
    }


def test_the_largest_batch_says_what_stopped_it(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LargestBatchView(), finished())
    found = {(row[0], row[1]): row[2:] for row in view.table()[1]}
    assert found["vgg16", "ort-cuda"] == [4, "4, out of memory at 8"]
    assert found["vgg16", "ort-cpu"] == [4, "4, none larger was tried"]


def test_accuracy_colours_families_and_names_each_model_once(qtbot: QtBot) -> None:
    view = on_screen(qtbot, AccuracyView(), finished())
    view.batch_choice.choose("2")
    drawn = view.plots[0].listDataItems()
    assert len(drawn) == 4
    assert len({item.opts["symbolBrush"].color().name() for item in drawn}) == 2
    (layer,) = view._layers
    assert isinstance(layer, NameLayer)
    assert sorted(name for _, _, name in layer._points) == ["alexnet", "vgg16"]
    rates = sorted(10.0 ** item.xData[0] for item in drawn)
    wanted = [
        number(one, "throughput_per_s") or 0.0
        for one in finished()
        if number(one, "batch_size") == 2
    ]
    assert rates == pytest.approx(sorted(wanted))


def test_heat_map_tiles_tell_the_distance_to_the_rows_best_and_failures_their_status(
    qtbot: QtBot,
) -> None:
    fast = series("ort-cpu", "m", count=20, latency_p50_us=10.0)
    slow = series("torch-cpu", "m", count=20, latency_p50_us=25.0)
    none = failed("fpga:v80", "m", "unsupported", "too large")
    view = on_screen(qtbot, HeatmapView(), [fast, slow, none])
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
    assert view.table()[1] == [
        ["Conv", "Conv", 8.0, 0.8, "CPU", "", None, None, None, None, None],
        ["Relu", "Relu", 2.0, 0.2, "CPU", "", None, None, None, None, None],
    ]


def test_the_memory_in_use_is_drawn_in_the_order_of_execution(qtbot: QtBot) -> None:
    view = on_screen(qtbot, OperatorsView())
    times = OperatorTimes(
        "case",
        ops=(
            Operator("/a", "Conv", 1.0, "k", resources=NodeResources(1000)),
            Operator("/b", "Relu", 9.0, "k", resources=NodeResources(5000)),
        ),
    )
    view.set_operators(operator_times(times, "CPU", {}), "net on ort-cpu", "wall")
    view.value_choice.choose("memory")
    view.draw_now()
    (layer,) = view._layers
    assert isinstance(layer, BarLayer)
    assert [bar.value for bar in layer._bars] == [1000, 5000]
    assert "/b" in view.heading._note


def test_a_card_run_gives_its_latency_and_survives_json() -> None:
    assert CARD_RUN.latency_us == pytest.approx(1.83 + 121 / 300)
    assert CARD_RUN.events[0].ahead == 16
    assert isinstance(CARD_RUN, CardRun)


def test_runs_are_paired_by_case_and_never_across_clocks(qtbot: QtBot) -> None:
    a = [series("ort-cpu", key="x", count=500), series("fpga:v80", key="y", count=500)]
    b = [
        series("ort-cpu", key="x", count=500, seed=7),
        series("fpga:v80", key="y", count=500, clock="simulated"),
        series("ort-cpu", key="z", count=500, threads=2),
    ]
    found = compare_runs(side("a", a, {}), side("b", b, {}))
    assert [case.label for case in found.cases] == ["cnn_tiny · ort-cpu"]
    assert set(found.cases[0].percentiles) == {"p50", "p99"}
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
    told = [dict(zip(header, row, strict=True)) for row in rows]
    assert [one["p50_verdict"] for one in told] == ["slower", "undecided"]
    assert "measured apart" in str(told[1]["p50_why"]), "3 % may be the machine's own"


def test_the_two_lines_of_a_row_always_have_room(qtbot: QtBot) -> None:
    a = [series("ort-cpu", f"net{k}", count=500) for k in range(8)]
    view = on_screen(qtbot, CompareView())
    view.set_runs(side("a", a, {}), side("b", a, {}))
    view.refresh()
    lines = 2.0 * QFontMetricsF(plot_font()).height()
    assert len(view.plots) == 2
    assert all(plot.minimumHeight() > 8 * lines for plot in view.plots)


def test_two_runs_are_judged_within_the_band_of_the_open_ones_plan(qtbot: QtBot) -> None:
    a, b = [series(count=2000)], [series(count=2000, seed=7, median_us=26.0)]
    words = []
    for band in (0.02, 0.5):
        view = on_screen(qtbot, CompareView())
        view.set_runs(replace(side("a", a, {}), band=band), side("b", b, {}))
        view.refresh()
        header, (row,) = view.table()
        words.append(dict(zip(header, row, strict=True))["p50_verdict"])
        assert f"within {100 * band:g}% is none" in view.heading._note
    assert words == ["slower", "same"], "30 % lies within half"


def test_verdicts_of_a_run_that_was_looked_at_again_and_again_ask_for_more(qtbot: QtBot) -> None:
    widths = []
    for confidence in (0.95, 0.99):
        b = series(count=2000, seed=7, median_us=26.0)
        looked = replace(b, summary=replace(summary_of(b), confidence=confidence))
        view = on_screen(qtbot, CompareView())
        view.set_runs(side("a", [series(count=2000)], {}), side("b", [looked], {}))
        header, (row,) = view.table()
        told = dict(zip(header, row, strict=True))
        low, high = told["p50_ci_low"], told["p50_ci_high"]
        assert isinstance(low, float) and isinstance(high, float)
        widths.append(high / low)
    assert widths[1] > widths[0]


def test_plots_of_ratios_are_of_one_width_whatever_the_names_take(qtbot: QtBot) -> None:
    view = on_screen(qtbot, CompareView())
    view.set_runs(side("a", [series(count=2000)], {}), side("b", [series(count=2000, seed=7)], {}))
    for width in (700, 1200):
        view.resize(width, 500)
        view.refresh()
        QApplication.processEvents()
        first, second = (plot.getViewBox().rect().width() for plot in view.plots)
        assert first == pytest.approx(second, rel=0.1)


def test_percentiles_that_both_plans_chose_are_compared(qtbot: QtBot) -> None:
    a, b = [series(count=2000)], [series(count=2000, seed=7)]
    view = on_screen(qtbot, CompareView())
    chosen = (50.0, 90.0, 99.9)
    view.set_runs(
        replace(side("a", a, {}), percentiles=chosen), replace(side("b", b, {}), percentiles=chosen)
    )
    view.refresh()
    judged = [name for name in view.table()[0] if name.endswith("_verdict")]
    assert judged == ["p50_verdict", "p90_verdict", "p999_verdict"]
    assert len(view.plots) == 3


def test_environments_that_differ_are_named() -> None:
    a = {"cpu": {"governor": "performance", "model": "EPYC"}, "kernel": "6.8", "only_here": "1"}
    b = {"cpu": {"governor": "powersave", "model": "EPYC"}, "kernel": "6.8"}
    assert differences(a, b) == [
        ("cpu.governor", "performance", "powersave"),
        ("only_here", "1", "not known"),
    ]


def test_bars_of_a_longer_run_are_seen_after_those_of_a_shorter_one(qtbot: QtBot) -> None:
    """What was drawn had once shrunk to one row, and two groups in it had no height."""
    cases = [
        series("ort-cpu", seed=1, throughput_per_s=5e4),
        series("openvino-cpu", seed=2, throughput_per_s=4e4),
        series("fpga:v80", seed=3, clock="simulated", throughput_per_s=3e5),
    ]
    view = on_screen(qtbot, DevicesView(), cases[:1])
    QApplication.processEvents()
    view.set_series(cases)
    view.refresh()
    QApplication.processEvents()
    for plot, bars in zip(view.plots, (2, 1), strict=True):
        assert plot.getViewBox().rect().height() >= 20 * bars


def test_bars_of_two_clocks_keep_their_height_in_a_low_window_with_large_letters(
    qtbot: QtBot,
) -> None:
    before = QApplication.font()
    large = QApplication.font()
    large.setPointSizeF(1.75 * large.pointSizeF())
    QApplication.setFont(large)
    try:
        cases = [
            series("ort-cpu", seed=1, throughput_per_s=5e4),
            series("openvino-cpu", seed=2, throughput_per_s=4e4),
            series("fpga:v80", seed=3, clock="simulated", throughput_per_s=3e5),
        ]
        view = on_screen(qtbot, DevicesView(), cases)
        view.resize(880, 260)
        QApplication.processEvents()
        for plot, bars in zip(view.plots, (2, 1), strict=True):
            assert plot.getViewBox().rect().height() >= 20 * bars
    finally:
        QApplication.setFont(before)
