"""The views of finished cases: what is compared, and what is kept out of it."""

from __future__ import annotations

from dataclasses import replace

from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.cases.jobs import Operator, OperatorTimes
from app.gui.look.theme import LIGHT, verdict_color
from app.gui.plots.compare import CompareView
from app.gui.plots.matrix import tile_color
from app.gui.plots.operators import OperatorsView, OperatorTime
from app.gui.plots.searches import LargestBatchView
from app.history.trends import differences
from app.plot_data.series import Series
from app.run_folder.diagnostics import diagnostic_columns
from app.runs.following.state import CaseDetails
from exporters.diagnostics.catalogue import diagnostic
from tests.app.columns.filled import MODEL
from tests.app.gui.plots.views import figures_of, finished, on_screen, side
from tests.app.gui.synthetic import series, summary_of


def test_searches_and_matrices_say_what_stopped_a_case_and_how_far_it_is_from_the_best(
    qtbot: QtBot,
) -> None:
    view = on_screen(qtbot, LargestBatchView(), finished())
    largest_batches = {(row[0], row[1]): row[2:] for row in view.table()[1]}
    assert largest_batches["vgg16", "ort-cuda"] == [4, "4, out of memory at 8"]
    assert largest_batches["vgg16", "ort-cpu"] == [4, "4, none larger was tried"]
    assert tile_color(1.0, LIGHT).name() == LIGHT.accent
    assert tile_color(500.0, LIGHT) == tile_color(10.0, LIGHT) != tile_color(2.0, LIGHT)


def test_kinds_of_operators_are_sums_of_their_nodes_and_nothing_is_drawn_beyond_what_is_known(
    qtbot: QtBot,
) -> None:
    view = on_screen(qtbot, OperatorsView())
    rows = [
        OperatorTime(
            "/a", "Conv", 3.0, 0.3, "CPU", peak_bytes=2_000_000, pool_wait_us=1.0, peak_share=2.02
        ),
        OperatorTime(
            "/b", "Conv", 5.0, 0.5, "CPU", peak_bytes=3_000_000, pool_wait_us=4.0, peak_share=0.41
        ),
        OperatorTime("/c", "Relu", 2.0, 0.2, "CPU"),
    ]
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
    view.set_operators([replace(row, pool_wait_us=None) for row in rows], "net", "wall")
    view.figure_choice.choose("waiting")
    assert view.draw(), "a sentence in place of bars that would all be zero"


def test_two_runs_are_paired_by_case_and_clock_and_judged_as_the_command_line_does(
    qtbot: QtBot,
) -> None:
    def compared(first: list[Series], second: list[Series]) -> list[dict[str, object]]:
        view.set_runs(side("a", first, {}), side("b", second, {}))
        header, rows = view.table()
        return [dict(zip(header, row, strict=True)) for row in rows]

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
    pen = entries["second slower"].pen
    assert pen is not None and pen.color() == verdict_color("slower", LIGHT)
    fills = [entry.brush.color().name() for entry in entries.values() if entry.brush is not None]
    assert len(set(fills)) == 4, "what is undecided is not what is the same"
    assert not compared(a, [])
    view.refresh()
    assert "no finished case in common" in view._missing.text()


def test_environments_that_differ_are_named() -> None:
    a = {"cpu": {"governor": "performance", "model": "EPYC"}, "kernel": "6.8", "only_here": "1"}
    b = {"cpu": {"governor": "powersave", "model": "EPYC"}, "kernel": "6.8"}
    assert differences(a, b) == [
        ("cpu.governor", "performance", "powersave"),
        ("only_here", "1", "not known"),
    ]


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
        (layer,) = figures_of(view)
        texts.append([bar.label for bar in layer.figure.marks])
        standings.append({style.standing for style in layer._styles.values()})
    assert all("%" in text for text in texts[0]) and not any("%" in text for text in texts[1])
    assert standings == [{"sound"}, {"doubted"}]
