"""The results table: sorted as numbers, filtered by words, in groups, compared, copied."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.analysis.columns.tables import read_rows
from app.analysis.insights.quality import issues_of
from app.analysis.plot_data.series import Baseline, Series
from app.gui.look.theme import LIGHT
from app.gui.tables.columns import COLUMNS
from app.gui.tables.model import ResultsModel
from app.gui.tables.results import ResultsTable
from app.gui.view_commands import export
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.diagnostics import diagnostic_columns
from exporters import diagnostics as rendering
from exporters.diagnostics import Diagnostic, diagnostic
from tests.app.analysis.columns.filled import NEVER_FILLED, filled_csv
from tests.app.gui.synthetic import failed, series

P50 = next(k for k, column in enumerate(COLUMNS) if column.key == "latency_p50_us")


def _case(key: str, p50: float, runtime: str = "ort-cpu", **row: object) -> Series:
    case_series = series(runtime, key=key, count=10, rounds=1, finished=False)
    figures = {"latency_p50_us": p50, "batch_size": 1, "rounds": 1}
    return replace(case_series, row={**case_series.row, **figures, **row})


CRASHED = failed("fpga:v80", "lstm_tiny", "crashed", "killed by signal 11; see the log")


@pytest.fixture
def table(qtbot: QtBot) -> ResultsTable:
    table = ResultsTable()
    qtbot.addWidget(table)
    table.resize(1200, 500)
    cases = [_case("a", 9.5), _case("b", 100.0, "openvino-cpu"), _case("c", 20.0, "torch-cpu")]
    table.set_series([*cases, CRASHED])
    table.show()
    return table


def _text(table: ResultsTable, row: int, column: int) -> str:
    return table.filter.index(row, column).data()


def _column(table: ResultsTable, key: str) -> int:
    return [column.key for column in table.model.columns].index(key)


def test_the_model_keeps_qts_contract(qapp: QApplication) -> None:
    model = ResultsModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_series([_case("a", 1.0), _case("b", 2.0)])
    model.set_series([_case("a", 3.0), _case("b", 2.0)])
    model.set_series([_case("b", 2.0)])
    model.set_series([])


def test_whatever_a_column_holds_is_shown(table: ResultsTable, tmp_path: Path) -> None:
    rows = read_rows(filled_csv(tmp_path / "run")[1])
    plain, filled = series(count=10, rounds=1, finished=False), set[str]()
    for row in rows.values():
        table.set_series([replace(plain, row=row)])
        filled |= {name for name, value in row.items() if value is not None}
        assert not [c.key for k, c in enumerate(COLUMNS) if row[c.key] and not _text(table, 0, k)]
    assert filled | NEVER_FILLED == {column.key for column in COLUMNS}


def test_a_plan_with_a_baseline_shows_its_verdicts_and_keeps_no_preference(
    table: ResultsTable,
) -> None:
    grid = (Sweep(models=("cnn_tiny",)),)
    columns_before = table.visible_columns()
    table.set_series([_case("a", 9.5, baseline_p50_verdict="slower")])
    table.show_plan(Plan(sweeps=grid, baseline="ort-cpu"))
    verdict = _column(table, "baseline_p50_verdict")
    assert not table.view.isColumnHidden(verdict)
    color = table.filter.index(0, verdict).data(Qt.ItemDataRole.ForegroundRole)
    assert (_text(table, 0, verdict), color) == ("slower", QColor(LIGHT.slower))
    assert table.visible_columns() == columns_before
    table.show_plan(Plan(sweeps=grid))
    assert table.view.isColumnHidden(verdict)


def test_what_tells_rows_apart_is_shown_while_it_does(table: ResultsTable) -> None:
    columns_before = set(table.visible_columns())
    off = _case("b", 9.5)
    cases = [
        _case("a", 9.5, scenario="closed_loop", options="arena=on", sequence_length=1),
        _case("b", 9.5, scenario="paced", options="arena=on", gap_us=20.0),
        _case("c", 9.5, "torch-cpu", scenario="paced", options="mode=eager", gap_us=200.0),
    ]
    for shown, new_columns in (
        (cases, {"scenario", "gap_us"}),
        ([_case("a", 9.5, condition=None), _case("b", 9.5, condition="cold:64MB")], {"condition"}),
        ([off, replace(off, key="c", case=replace(off.case, options={"arena": 0}))],
         {"option:arena"}),
        (cases[:1], set()),
    ):  # fmt: skip
        table.set_series(shown)
        checked = {a.data() for a in table.columns.menu.actions() if a.isChecked()}
        assert checked - columns_before == new_columns
        assert set(table.visible_columns()) == columns_before, "nothing is kept as a choice"


def test_copied_and_exported_are_the_columns_that_were_chosen_as_raw_numbers(
    qtbot: QtBot, table: ResultsTable, tmp_path: Path
) -> None:
    chosen = ["model", "runtime", "latency_p50_us", "reason"]
    table.set_visible_columns([*chosen, "of_a_later_version"])
    assert table.visible_columns() == chosen
    assert [c.key for k, c in enumerate(COLUMNS) if not table.view.isColumnHidden(k)] == chosen
    with qtbot.waitSignal(table.selected) as blocker:
        table.view.selectRow(1)
    assert blocker.args == [["b"]]
    table.set_series(table.model.series[1:])
    assert table.selected_keys() == ["b"], "it is the same among other rows"
    table.view.setFocus()
    QTest.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = ["\t".join(chosen), "cnn_tiny\topenvino-cpu\t100.0\t"]
    assert QGuiApplication.clipboard().text().splitlines() == copied
    table.filter_box.setText("torch")
    table.set_series([*table.model.series, failed("torch-cpu", "m", "crashed", "=HYPERLINK()")])
    export(table, tmp_path / "rows.csv")
    assert [*csv.reader((tmp_path / "rows.csv").read_text("utf-8").splitlines())] == [
        chosen, ["cnn_tiny", "torch-cpu", "20.0", ""], ["m", "torch-cpu", "", "'=HYPERLINK()"],
    ]  # fmt: skip
    table.view.selectAll()
    table.copy()
    assert QGuiApplication.clipboard().text().endswith("\t'=HYPERLINK()\n"), "no formula"
    next(a for a in table.columns.menu.actions() if a.data() == "opset").trigger()
    assert "opset" in table.visible_columns()


def test_percentiles_that_a_plan_chose_are_columns_of_that_run(table: ResultsTable) -> None:
    row_values = {"latency_p9999_us": 31.5, "latency_p9999_ci_low_us": 30.0, "ci_method": "t_ranks"}
    table.set_series([_case(key, 9.5, "ort-cpu", **row_values) for key in ("a", "b")])
    extra_columns = table.model.columns[len(COLUMNS) :]
    assert [column.title for column in extra_columns] == ["p99.99", "p99.99 from"]
    assert _text(table, 0, len(COLUMNS)) == "31.50 µs"
    assert "latency_p9999_us" in table.visible_columns()
    assert "latency_p9999_ci_low_us" not in table.visible_columns()
    table.set_series([_case("a", 9.5, ci_method="t_ranks")])
    assert table.model.columns == COLUMNS
    assert "latency_p9999_us" not in table.visible_columns()


def _over(table: ResultsTable, baseline: Series) -> list[str]:
    """What each row has below the p50 over this baseline's."""
    table.set_baselines((Baseline(baseline.key, "it", case_series=baseline),))
    column = next(k for k, c in enumerate(table.model.columns) if c.title == "p50 / it")
    return [_text(table, row, column) for row in range(table.filter.rowCount())]


def test_rows_have_verdicts_over_a_baseline_within_the_plans_band(table: ResultsTable) -> None:
    medians = {"a": 20.0, "b": 30.0, "c": 12.0, "d": 20.0, "e": 22.0}
    cases = [
        series(key=key, median_us=median, count=2000, seed=seed)
        for seed, (key, median) in enumerate(medians.items(), start=1)
    ]
    table.set_series([*cases, _case("f", 40.0)])
    words = [text.split()[-1] if text else "" for text in _over(table, cases[0])]
    assert words == ["", "slower", "faster", "same", "slower", ""], "none without rounds"
    column = len(table.model.columns) - 2
    role = Qt.ItemDataRole.ForegroundRole
    slower, faster, same = (table.filter.index(row, column).data(role) for row in (1, 2, 3))
    assert slower != faster and same is None
    table.show_plan(Plan(sweeps=(Sweep(models=("cnn_tiny",)),), band=0.25))
    assert _over(table, cases[0])[4].endswith("same")
    tip = table.filter.index(4, column).data(Qt.ItemDataRole.ToolTipRole)
    assert "within 25% does not count" in tip


def test_a_verdict_is_given_only_between_cases_that_do_the_same_work(table: ResultsTable) -> None:
    """A row of another model was once called slower than the baseline, in orange."""
    first, second = (
        series(runtime, key=runtime, median_us=us, count=2000, seed=seed)
        for seed, (runtime, us) in enumerate((("ort-cpu", 20.0), ("torch-cpu", 40.0)), 1)
    )
    case = second.case
    others = (replace(case, model="mlp"), replace(case, axes={"batch": 4}))
    for other, has_verdict in ((case, True), *((other, False) for other in others)):
        table.set_series([first, replace(second, case=other)])
        assert _over(table, first)[1].endswith("slower") is has_verdict


def _rows(table: ResultsTable) -> list[str]:
    """The key of each case, and what a group's own row begins with, from top to bottom."""
    rows = []
    for row in range(table.filter.rowCount()):
        case_series = table.filter.series_at(row)
        heading = str(table.filter.index(row, 0).data()).partition(":")[0]
        rows.append(case_series.key if case_series else heading)
    return rows


def _find_keys(table: ResultsTable, query: str) -> list[str]:
    table.filter_box.clear()
    QTest.keyClicks(table.filter_box, query)
    return _rows(table)


BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)


def _with_options(key: str, model: str, **options: float | str) -> Series:
    case_series = series("ort-cpu", model, key=key, count=10, rounds=1, finished=False)
    case = replace(case_series.case, options=options)
    row = {**case_series.row, "rounds": 1, "latency_p50_us": 10.0}
    return replace(case_series, case=case, row=row)


@pytest.fixture
def sweep(table: ResultsTable) -> ResultsTable:
    """A sweep over two options of one runtime, and a failure of another."""
    table.set_series(
        [
            _with_options("a", "lstm_tiny", distribution="normal", spread_us=1.0),
            _with_options("b", "lstm_tiny", distribution="bimodal", spread_us=1.0),
            _with_options("c", "lstm_tiny", distribution="bimodal", spread_us=3.0),
            _with_options("d", "mlp", distribution="bimodal", spread_us=3.0),
            CRASHED,
        ]
    )
    return table


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("lstm bimodal", ["b", "c"]),
        ("spread_us>=3 model:lstm", ["c"]),
        ("distribution!=bimodal status=ok", ["a"]),
        ("fpga:v80", [CRASHED.key]),
        ('"signal 11"', [CRASHED.key]),
        ("P50>5 Model=MLP", ["d"]),
        ("p50>10", []),
        ("rounds<3 clock:wall", ["a", "b", "c", "d"]),
        ("status:crash*", [CRASHED.key]),
        ("no_such_column>5", []),
    ],
)
def test_a_filter_finds_settings_and_figures(
    sweep: ResultsTable, query: str, keys: list[str]
) -> None:
    assert _find_keys(sweep, query) == keys


def _warned(key: str, *diagnostics: Diagnostic) -> Series:
    values: dict[str, Any] = {**diagnostic_columns(diagnostics)}
    return _case(key, 9.5, **values)


def test_each_doubt_of_a_run_finds_the_rows_that_it_counts(sweep: ResultsTable) -> None:
    spread = [diagnostic("rounds_differ", spread=share) for share in (0.05, 0.12)]
    cause = diagnostic("outliers_from_steal", outliers=1, all=2)
    sweep.set_series(
        [
            _warned("a", BUSY, spread[0], cause),
            _warned("b", spread[1], diagnostic("outliers", share=0.1)),
            _case("c", 9.5, valid=False),
            _case("d", 9.5, warnings=None),
            failed("fpga:v80", "m", "wrong_output", "off by 0.5"),
            failed("fpga:v80", "m", "cancelled", "not come to"),
        ]
    )
    issues = issues_of(
        sweep.model.series, {"here": {"virtual_machine": True, "governor": None}}, True
    )
    assert len(issues) == 10
    codes = {":outliers": ["b"], ":outliers*": ["a", "b"], "=cpu_oversubscribed": ["a"]}
    for query, keys in codes.items():
        assert _find_keys(sweep, f"code{query}") == keys, "a code is found whole"
    assert "b" not in _find_keys(sweep, "code!=outliers")
    for issue in issues:
        assert len(_find_keys(sweep, issue.query)) == issue.rows, issue


def test_doubted_and_invalid_rows_are_marked_and_say_why(sweep: ResultsTable) -> None:
    sweep.set_series([_warned("a", BUSY), _case("b", 9.5), _case("c", 9.5, valid=False)])
    cells = [sweep.filter.index(row, _column(sweep, "status")) for row in range(3)]
    assert [cell.data() for cell in cells] == ["ok !", "ok", "ok, not valid"]
    assert rendering.text(BUSY) in cells[0].data(Qt.ItemDataRole.ToolTipRole)
    colors = [cell.data(Qt.ItemDataRole.ForegroundRole) for cell in cells]
    assert colors[0] != colors[1] == QColor(LIGHT.good) and colors[2] == QColor(LIGHT.warning)


CASES = [
    _case("a", 30.0, threads=4),
    _case("b", 20.0, threads=1),
    _case("c", 10.0, threads=4),
    _case("d", 5.0, threads=4),
    _case("e", 0.5, threads=1),
    failed("ort-cuda", "cnn_tiny", "crashed", "signal 11", threads=4),
]


def test_groups_keep_the_sorting_and_a_click_or_enter_folds_one_and_shows_it_again(
    sweep: ResultsTable,
) -> None:
    sweep.set_series(CASES)
    sweep.view.sortByColumn(P50, Qt.SortOrder.AscendingOrder)
    sweep.group_choice.choose("threads")
    failure = CASES[-1].key
    assert _rows(sweep) == ["▾ Threads 1", "e", "b", "▾ Threads 4", "d", "c", "a", failure]
    sweep.view.sortByColumn(P50, Qt.SortOrder.DescendingOrder)
    assert _rows(sweep)[-4:] == ["a", "c", "d", failure]
    sweep.select(["a", "b"])
    image = sweep.view.grab().toImage()
    place = sweep.view.visualRect(sweep.filter.index(0, 1)).center()
    QTest.mouseClick(sweep.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place))
    assert _rows(sweep)[:3] == ["▸ Threads 1", "▾ Threads 4", "a"]
    assert sweep.selected_keys() == ["a"], "what is folded away is shown nowhere"
    assert sweep.view.grab().toImage() != image
    assert sweep.count_label.text() == "6 cases"
    sweep.view.setCurrentIndex(sweep.filter.index(0, 0))
    sweep.view.setFocus()
    QTest.keyClick(sweep.view, Qt.Key.Key_Return)
    assert _rows(sweep)[:2] == ["▾ Threads 1", "b"]
    sweep.group_choice.choose("")
    assert len(_rows(sweep)) == len(CASES)
