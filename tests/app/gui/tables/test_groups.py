"""Rows in groups and the chips of the filter: what stands together, folds, and is taken away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.tables.columns import COLUMNS
from app.gui.tables.filter import ResultsFilter
from app.gui.tables.model import ResultsModel
from app.gui.tables.results import ResultsTable
from app.plot_data.series import Series
from runtimes.execution import Clock
from tests.app.gui.synthetic import failed, series

P50 = next(k for k, column in enumerate(COLUMNS) if column.key == "latency_p50_us")


def _case(
    key: str, p50_us: float, runtime: str = "ort-cpu", clock: Clock = "wall", **row: Any
) -> Series:
    case_series = series(runtime, key=key, count=10, rounds=1, finished=False, clock=clock, **row)
    figures = {"latency_p50_us": p50_us, "latency_p99_us": 2 * p50_us, "precision": "fp32"}
    return replace(case_series, row={**case_series.row, **figures, **row})


CASES = [
    _case("a", 30.0, threads=4),
    _case("b", 20.0, threads=1),
    _case("c", 10.0, threads=4),
    _case("d", 5.0, threads=4, precision="int8"),
    _case("e", 0.5, "fpga:v80", "simulated", threads=1),
    failed("ort-cuda", "cnn_tiny", "crashed", "signal 11", threads=4),
]


@pytest.fixture
def table(qtbot: QtBot) -> ResultsTable:
    table = ResultsTable()
    qtbot.addWidget(table)
    table.resize(1200, 500)
    table.set_series(CASES)
    table.show()
    qtbot.waitExposed(table)
    return table


def _rows(table: ResultsTable) -> list[str]:
    """The key of each case, and what a group's own row begins with, from top to bottom."""
    keys = []
    for row in range(table.filter.rowCount()):
        case_series = table.filter.series_at(row)
        keys.append(
            case_series.key
            if case_series
            else str(table.filter.index(row, 0).data()).partition(":")[0]
        )
    return keys


def test_groups_come_in_the_order_of_their_setting_and_keep_the_sorting(
    table: ResultsTable,
) -> None:
    table.view.sortByColumn(P50, Qt.SortOrder.AscendingOrder)
    table.group_choice.choose("threads")
    failure = CASES[-1].key
    assert _rows(table) == ["▾ Threads 1", "e", "b", "▾ Threads 4", "d", "c", "a", failure]
    assert table.count_label.text() == "6 cases"
    table.view.sortByColumn(P50, Qt.SortOrder.DescendingOrder)
    assert _rows(table)[-4:] == ["a", "c", "d", failure]
    table.group_choice.choose("")
    assert len(_rows(table)) == len(CASES)


def test_a_click_or_enter_folds_a_group_and_shows_it_again(table: ResultsTable) -> None:
    table.group_choice.choose("threads")
    table.select(["a", "b"])
    place = table.view.visualRect(table.filter.index(0, 1)).center()
    QTest.mouseClick(table.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place))
    assert _rows(table)[:3] == ["▸ Threads 1", "▾ Threads 4", "a"]
    assert table.selected_keys() == ["a"], "what is folded away is shown nowhere"
    assert table.count_label.text() == "6 cases"
    table.view.setCurrentIndex(table.filter.index(0, 0))
    table.view.setFocus()
    QTest.keyClick(table.view, Qt.Key.Key_Return)
    assert _rows(table)[:2] == ["▾ Threads 1", "b"]


def test_a_groups_row_is_no_case(table: ResultsTable) -> None:
    table.group_choice.choose("threads")
    table.view.selectAll()
    assert len(table.selected_keys()) == len(CASES)
    assert len(table.table()[1]) == len(CASES)
    table.view.setCurrentIndex(table.filter.index(0, 0))
    table.toggle_baseline()
    assert table.model.baseline is None


def test_groups_stay_while_a_run_goes_on_and_go_with_their_setting(table: ResultsTable) -> None:
    table.group_choice.choose("threads")
    table.set_series([replace(CASES[0], row={**CASES[0].row, "latency_p50_us": 1.0}), *CASES[1:]])
    assert table.filter.index(4, P50).data() == "1.000 µs"
    table.set_series([_case("x", 1.0), _case("y", 2.0)])
    assert _rows(table) == ["x", "y"], "nothing is told apart by threads any more"


def test_the_arranged_rows_keep_qts_contract(qapp: QApplication) -> None:
    model = ResultsModel()
    rows = ResultsFilter(model)
    QAbstractItemModelTester(rows, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_series(CASES)
    rows.sort(P50, Qt.SortOrder.DescendingOrder)
    rows.set_group("threads")
    rows.set_text("p50>4")
    model.set_series([*CASES[:1], replace(CASES[1], row={**CASES[1].row, "latency_p50_us": 1.0}),
                      *CASES[2:]])  # fmt: skip
    rows.set_text("")
    model.set_series([])


def test_the_keyboard_stays_on_its_case_through_filter_and_sorting(table: ResultsTable) -> None:
    table.view.setCurrentIndex(table.filter.index(2, P50))
    table.filter_box.setText("p50<15")
    assert table.filter.series_at(table.view.currentIndex().row()) is table.model.series[2]
    table.view.sortByColumn(P50, Qt.SortOrder.AscendingOrder)
    index = table.view.currentIndex()
    assert (table.filter.series_at(index.row()), index.column()) == (table.model.series[2], P50)
