"""Rows that the filter finds, and rows in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.gui.look.theme import LIGHT
from app.gui.tables.columns import COLUMNS
from app.gui.tables.results import ResultsTable
from app.insights.quality import issues_of
from app.plot_data.series import Series
from app.run_folder.diagnostics import diagnostic_columns
from exporters.diagnostics import catalogue as rendering
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.execution import Clock
from tests.app.gui.synthetic import failed, series
from tests.app.gui.tables.shown import keys_shown

BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)


def _warning_values(diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    return {**diagnostic_columns(diagnostics)}


def _case(key: str, model: str = "cnn_tiny", runtime: str = "ort-cpu", **row: object) -> Series:
    case_series = series(runtime, model, key=key, count=10, rounds=1, finished=False)
    return replace(case_series, row={**case_series.row, "rounds": 1, **row})


def _with_options(key: str, model: str, **options: float | str) -> Series:
    case_series = _case(key, model, latency_p50_us=10.0)
    return replace(case_series, case=replace(case_series.case, options=options))


@pytest.fixture
def table(qtbot: QtBot) -> ResultsTable:
    """A sweep over two options of one runtime, and a failure of another."""
    table = ResultsTable()
    qtbot.addWidget(table)
    table.resize(1200, 400)
    table.set_series(
        [
            _with_options("a", "lstm_tiny", distribution="normal", spread_us=1.0),
            _with_options("b", "lstm_tiny", distribution="bimodal", spread_us=1.0),
            _with_options("c", "lstm_tiny", distribution="bimodal", spread_us=3.0),
            replace(_with_options("d", "mlp", distribution="bimodal", spread_us=3.0), clock="wall"),
            failed("fpga:v80", "lstm_tiny", "crashed", "killed by signal 11; see the log"),
        ]
    )
    table.show()
    return table


def _find_keys(table: ResultsTable, query: str) -> list[str]:
    table.filter_box.clear()
    QTest.keyClicks(table.filter_box, query)
    return keys_shown(table)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("lstm bimodal", ["b", "c"]),
        ("spread_us=3", ["c", "d"]),
        ("spread_us>=3 model:lstm", ["c"]),
        ("distribution:norm", ["a"]),
        ("distribution!=bimodal status=ok", ["a"]),
        ("fpga:v80", ["lstm_tiny/fpga:v80/crashed"]),
        ('"signal 11"', ["lstm_tiny/fpga:v80/crashed"]),
        ("p50>5", ["a", "b", "c", "d"]),
        ("P50>5 Model=MLP", ["d"]),
        ("p50>10", []),
        ("rounds<3 clock:wall", ["a", "b", "c", "d"]),
        ("status:crash*", ["lstm_tiny/fpga:v80/crashed"]),
        ("no_such_column>5", []),
    ],
)
def test_a_filter_finds_settings_and_figures(
    table: ResultsTable, query: str, keys: list[str]
) -> None:
    assert _find_keys(table, query) == keys


def test_settings_that_tell_cases_apart_are_columns_before_the_status(table: ResultsTable) -> None:
    header = table.view.horizontalHeader()
    places = {column.key: k for k, column in enumerate(table.model.columns)}
    spread, kind = places["option:spread_us"], places["option:distribution"]
    assert not table.view.isColumnHidden(spread) and not table.view.isColumnHidden(kind)
    assert header.visualIndex(kind) < header.visualIndex(places["status"])
    assert table.filter.index(2, kind).data() == "bimodal"
    table.view.sortByColumn(spread, Qt.SortOrder.DescendingOrder)
    assert set(keys_shown(table)[:2]) == {"c", "d"}, "3 is more than 1"
    assert "option:spread_us" not in table.visible_columns(), "it is no preference"
    explicit = _with_options("b", "m", arena="False")
    sized = replace(explicit, case=replace(explicit.case, axes={"rows": 8, "batch": 8}))
    left = _case("a", options="arena=True;streams=1")
    left = replace(left, case=replace(left.case, axes={"rows": 4, "batch": 4}))
    table.set_series([left, sized])
    keys = [column.key for column in table.model.columns if ":" in column.key]
    assert sorted(keys) == ["axis:rows", "option:arena"], "the batch has a column as it is"
    arena = next(k for k, c in enumerate(table.model.columns) if c.key == "option:arena")
    cells = {table.filter.index(row, arena).data() for row in (0, 1)}
    assert cells == {"True", "False"}, "what is left to the runtime has the value that held"
    assert _find_keys(table, "rows=8") == ["b"]


def test_each_doubt_of_a_run_finds_the_rows_that_it_counts(table: ResultsTable) -> None:
    spread = [diagnostic("rounds_differ", spread=share) for share in (0.05, 0.12)]
    cause = diagnostic("outliers_from_steal", outliers=1, all=2)
    table.set_series(
        [
            _case("a", **_warning_values([BUSY, spread[0], cause])),
            _case("b", **_warning_values([spread[1], diagnostic("outliers", share=0.1)])),
            _case("c", valid=False),
            _case("d", warnings=None),
            failed("fpga:v80", "m", "wrong_output", "off by 0.5"),
            failed("fpga:v80", "m", "cancelled", "not come to"),
        ]
    )
    issues = issues_of(
        table.model.series, {"here": {"virtual_machine": True, "governor": None}}, True
    )
    by_code = {issue.code or issue.title: issue for issue in issues}
    assert set(by_code) == {
        "wrong output", "cancelled", "not valid", "cpu_oversubscribed", "rounds_differ",
        "outliers", "outliers_from_steal", "few_rounds", "virtual_machine", "governor_unknown",
    }  # fmt: skip
    assert by_code["wrong output"].remedy == "off by 0.5"
    assert by_code["rounds_differ"].detail == rendering.message(*spread)
    assert by_code["rounds_differ"].remedy == rendering.action(*spread)
    codes = {":outliers": ["b"], ":outliers*": ["a", "b"], "=cpu_oversubscribed": ["a"]}
    for query, keys in codes.items():
        assert _find_keys(table, f"code{query}") == keys, "a code is found whole"
    assert "b" not in _find_keys(table, "code!=outliers")
    for issue in issues:
        assert len(_find_keys(table, issue.query)) == issue.rows, issue


def test_doubted_and_invalid_rows_are_marked_and_say_why(table: ResultsTable) -> None:
    rows = [_case("a", **_warning_values([BUSY])), _case("b"), _case("c", valid=False)]
    table.set_series(rows)
    status = next(k for k, c in enumerate(table.model.columns) if c.key == "status")
    cells = [table.filter.index(row, status) for row in range(3)]
    assert [cell.data() for cell in cells] == ["ok !", "ok", "ok, not valid"]
    assert cells[0].data(Qt.ItemDataRole.ToolTipRole).splitlines()[0] == rendering.text(BUSY)
    colors = [cell.data(Qt.ItemDataRole.ForegroundRole) for cell in cells]
    assert colors[0] != colors[1] == QColor(LIGHT.good)
    assert colors[2] == QColor(LIGHT.warning)


P50 = next(k for k, column in enumerate(COLUMNS) if column.key == "latency_p50_us")


def _timed(
    key: str, p50_us: float, runtime: str = "ort-cpu", clock: Clock = "wall", **row: Any
) -> Series:
    case_series = series(runtime, key=key, count=10, rounds=1, finished=False, clock=clock, **row)
    figures = {"latency_p50_us": p50_us, "latency_p99_us": 2 * p50_us, "precision": "fp32"}
    return replace(case_series, row={**case_series.row, **figures, **row})


CASES = [
    _timed("a", 30.0, threads=4),
    _timed("b", 20.0, threads=1),
    _timed("c", 10.0, threads=4),
    _timed("d", 5.0, threads=4, precision="int8"),
    _timed("e", 0.5, "fpga:v80", "simulated", threads=1),
    failed("ort-cuda", "cnn_tiny", "crashed", "signal 11", threads=4),
]


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
    table.set_series(CASES)
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
    table.set_series(CASES)
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


def test_the_keyboard_stays_on_its_case_through_filter_and_sorting(table: ResultsTable) -> None:
    table.set_series(CASES)
    table.view.setCurrentIndex(table.filter.index(2, P50))
    table.filter_box.setText("p50<15")
    assert table.filter.series_at(table.view.currentIndex().row()) is table.model.series[2]
    table.view.sortByColumn(P50, Qt.SortOrder.AscendingOrder)
    index = table.view.currentIndex()
    assert (table.filter.series_at(index.row()), index.column()) == (table.model.series[2], P50)
