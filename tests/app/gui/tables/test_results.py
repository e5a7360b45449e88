"""The results table: sorted as numbers, filtered by words, compared, copied."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.look.theme import LIGHT
from app.gui.tables.columns import COLUMNS
from app.gui.tables.model import ResultsModel
from app.gui.tables.results import ResultsTable
from app.gui.view_commands import export
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.plot_data.series import Baseline, Series
from app.run_folder.table import read_rows
from tests.app.columns.filled import NEVER_FILLED, filled_csv
from tests.app.gui.synthetic import failed, series

P50 = next(k for k, column in enumerate(COLUMNS) if column.key == "latency_p50_us")


def _case(key: str, p50: float, runtime: str = "ort-cpu", **row: object) -> Series:
    case_series = series(runtime, key=key, count=10, rounds=1, finished=False)
    return replace(
        case_series, row={**case_series.row, "latency_p50_us": p50, "batch_size": 1, **row}
    )


@pytest.fixture
def table(qtbot: QtBot) -> ResultsTable:
    table = ResultsTable()
    qtbot.addWidget(table)
    table.resize(1200, 500)
    table.set_series(
        [
            _case("a", 9.5),
            _case("b", 100.0, "openvino-cpu"),
            _case("c", 20.0, "torch-cpu"),
            failed("ort-cuda", "cnn_tiny", "crashed", "killed by signal 11; see the log"),
        ]
    )
    table.show()
    return table


def _text(table: ResultsTable, row: int, column: int) -> str:
    return table.filter.index(row, column).data()


def test_the_model_keeps_qts_contract(qapp: QApplication) -> None:
    model = ResultsModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_series([_case("a", 1.0), _case("b", 2.0)])
    model.set_series([_case("a", 3.0), _case("b", 2.0)])
    model.set_series([_case("b", 2.0)])
    model.set_series([])


def test_whatever_a_column_holds_is_shown(table: ResultsTable, tmp_path: Path) -> None:
    rows = read_rows(filled_csv(tmp_path / "run")[1])
    for row in rows.values():
        table.set_series([replace(series(count=10, rounds=1, finished=False), row=row)])
        hidden_columns = [
            c.key for k, c in enumerate(COLUMNS) if row[c.key] and not _text(table, 0, k)
        ]
        assert not hidden_columns
    filled_columns = {
        name for row in rows.values() for name, value in row.items() if value is not None
    }
    assert filled_columns | NEVER_FILLED == {column.key for column in COLUMNS}


def test_a_plan_with_a_baseline_shows_its_verdicts_and_keeps_no_preference(
    table: ResultsTable,
) -> None:
    grid = (Sweep(models=("cnn_tiny",)),)
    columns_before = table.visible_columns()
    table.set_series([_case("a", 9.5, baseline_p50_verdict="slower")])
    table.show_plan(Plan(sweeps=grid, baseline="ort-cpu"))
    verdict = next(k for k, column in enumerate(COLUMNS) if column.key == "baseline_p50_verdict")
    assert not table.view.isColumnHidden(verdict)
    color = table.filter.index(0, verdict).data(Qt.ItemDataRole.ForegroundRole)
    assert (_text(table, 0, verdict), color) == ("slower", QColor(LIGHT.slower))
    assert table.visible_columns() == columns_before
    table.show_plan(Plan(sweeps=grid))
    assert table.view.isColumnHidden(verdict)


def test_what_tells_rows_apart_is_shown_while_it_does(table: ResultsTable) -> None:
    columns_before = table.visible_columns()

    def new_columns() -> set[str]:
        return {a.data() for a in table.columns.menu.actions() if a.isChecked()} - set(
            columns_before
        )

    table.set_series(
        [
            _case("a", 9.5, scenario="closed_loop", options="arena=on", sequence_length=1),
            _case("b", 9.5, scenario="paced", options="arena=on", gap_us=20.0),
            _case("c", 9.5, "torch-cpu", scenario="paced", options="mode=eager", gap_us=200.0),
        ]
    )
    assert new_columns() == {"scenario", "gap_us"}
    assert table.visible_columns() == columns_before, "nothing of it is kept as the user's choice"
    table.set_series([_case("a", 9.5, condition=None), _case("b", 9.5, condition="cold:64MB")])
    assert new_columns() == {"condition"}
    on, off = _case("a", 9.5), _case("b", 9.5)
    table.set_series([on, replace(off, case=replace(off.case, options={"arena": False}))])
    assert new_columns() == {"option:arena"}
    table.set_series([_case("a", 9.5)])
    assert new_columns() == set()


def test_copied_rows_paste_into_a_spreadsheet_as_raw_numbers(
    qtbot: QtBot, table: ResultsTable
) -> None:
    table.set_visible_columns(["model", "runtime", "latency_p50_us", "reason"])
    with qtbot.waitSignal(table.selected) as blocker:
        table.view.selectRow(1)
    assert blocker.args == [["b"]]
    table.set_series(table.model.series[1:])
    assert table.selected_keys() == ["b"], "it is the same among other rows"
    table.view.setFocus()
    QTest.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t") == ["model", "runtime", "latency_p50_us", "reason"]
    assert lines[1].split("\t") == ["cnn_tiny", "openvino-cpu", "100.0", ""]
    assert len(lines) == 2


def test_the_csv_holds_the_rows_and_columns_in_view(table: ResultsTable, tmp_path: Path) -> None:
    table.set_visible_columns(["runtime", "latency_p50_us", "reason"])
    table.filter_box.setText("torch")
    table.set_series([*table.model.series, failed("torch-cpu", "m", "crashed", "=HYPERLINK()")])
    export(table, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["runtime", "latency_p50_us", "reason"],
        ["torch-cpu", "20.0", ""],
        ["torch-cpu", "", "'=HYPERLINK()"],
    ]


def test_columns_can_be_chosen_and_kept(table: ResultsTable) -> None:
    table.set_series([_case("a", 1.0, macs=1000)])
    table.set_visible_columns(["model", "macs", "of_a_later_version"])
    assert table.visible_columns() == ["model", "macs"]
    visible_indices = [k for k in range(len(COLUMNS)) if not table.view.isColumnHidden(k)]
    assert [COLUMNS[k].key for k in visible_indices] == ["model", "macs"]
    action = next(a for a in table.columns.menu.actions() if a.data() == "opset")
    action.trigger()
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


@pytest.mark.parametrize("other", [{"model": "mlp"}, {"axes": {"batch": 4}}])
def test_a_verdict_is_given_only_between_cases_that_do_the_same_work(
    table: ResultsTable, other: dict[str, Any]
) -> None:
    """A row of another model was once called slower than the baseline, in orange."""
    first, second = (
        series(runtime, key=runtime, median_us=us, count=2000, seed=seed)
        for seed, (runtime, us) in enumerate((("ort-cpu", 20.0), ("torch-cpu", 40.0)), 1)
    )
    table.set_series([first, second])
    assert _over(table, first)[1].endswith("slower")
    table.set_series([first, replace(second, case=replace(second.case, **other))])
    assert not _over(table, first)[1].endswith("slower")
