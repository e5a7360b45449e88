"""Baselines in the whole window: of the run itself and of others, drawn and judged."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.plots.base import PlotView
from app.gui.plots.histogram import HistogramView
from app.gui.window import MainWindow
from tests.app.gui.runs import measured_run
from tests.app.gui.windows import open_run

CASES = tuple(Case("mlp", "fake", threads=threads) for threads in (1, 2, 3))
OTHERS = (CASES[0], CASES[1], Case("cnn_tiny", "fake"))


def _run(path: Path, latency_us: float, cases: tuple[Case, ...]) -> Path:
    def latencies_us(place: int, number: int) -> list[float]:
        base = latency_us * (1 + place) * (1.0 + 0.002 * number)
        return [base + k % 7 for k in range(600)]

    return measured_run(path, cases, latencies_us, rounds=3)


@pytest.fixture
def monday(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> HistogramView:
    """The histogram of an open run, all of whose cases are summarised as soon as asked for."""
    open_run(window, qtbot, _run(tmp_path / "monday", 100.0, CASES))
    window.frame.show_key("histogram")
    view = window.views.by_key["histogram"]
    assert isinstance(view, HistogramView)
    qtbot.waitUntil(lambda: len(view.series) == 3, timeout=20_000)
    return view


def _read_column(window: MainWindow, column: str) -> list[str]:
    """The cells below this heading, from top to bottom; none where no such column is shown."""
    table = window.table
    places = [k for k, one in enumerate(table.model.columns) if one.title == column]
    if not places or table.view.isColumnHidden(places[0]):
        return []
    rows = range(table.filter.rowCount())
    return [str(table.filter.index(row, places[0]).data()) for row in rows]


def _has_plots(view: PlotView) -> bool:
    return bool(view.plots)


def _press_baseline(window: MainWindow, row: int) -> None:
    window.table.view.setCurrentIndex(window.table.filter.index(row, 0))
    window.table.view.clearSelection()
    window.table.baseline_action.trigger()


def _grey(view: HistogramView) -> list[str]:
    """The baselines that are drawn behind, by their legend lines."""
    view.refresh()
    return [e.text for e in view.legend._entries if e.text.startswith("baseline ")]


def test_cases_of_the_run_are_baselines_of_which_there_may_be_several(
    window: MainWindow, qtbot: QtBot, monday: HistogramView
) -> None:
    _press_baseline(window, 0)
    qtbot.waitUntil(lambda: len(_grey(monday)) == 1, timeout=20_000)
    first = "baseline mlp · fake · 1 thread"
    assert _grey(monday) == [first]
    _press_baseline(window, 1)
    qtbot.waitUntil(lambda: len(_grey(monday)) == 2, timeout=20_000)
    read_cells = partial(_read_column, window, "p50 / mlp · fake · 1 thread")
    qtbot.waitUntil(lambda: sum("slower" in cell for cell in read_cells()) == 2, timeout=60_000)
    cells = read_cells()
    assert cells[0] == "", "nothing is held against itself"
    assert math.isclose(float(cells[2].split()[0]), 303.0 / 103.0, rel_tol=5e-3)
    _press_baseline(window, 1)
    _press_baseline(window, 0)
    qtbot.waitUntil(lambda: _grey(monday) == [], timeout=20_000)
    assert len(monday.plots) == 1


def test_another_run_is_a_baseline_of_the_cases_that_it_has(
    window: MainWindow,
    qtbot: QtBot,
    monday: HistogramView,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = _run(tmp_path / "tuesday", 150.0, OTHERS)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(other))
    with qtbot.waitActive(window):
        window.activateWindow()
    QTest.keyClick(
        window,
        Qt.Key.Key_B,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    qtbot.waitUntil(lambda: _grey(monday) == ["baseline tuesday"], timeout=20_000)
    grey_keys = [baseline.key for baseline in monday._grey(monday.series)]
    assert grey_keys == [CASES[0].case_id, CASES[1].case_id], "the third is not in that run"
    for view in ("percentiles", "boxes"):
        window.frame.show_key(view)
        plot_view = window.views.by_key[view]
        qtbot.waitUntil(partial(_has_plots, plot_view), timeout=20_000)
        assert [baseline.name for baseline in window.series_list.arrangement.baselines] == [
            "tuesday"
        ]
    window.frame.show_key("histogram")
    qtbot.waitUntil(lambda: any(_read_column(window, "p50 / tuesday")), timeout=60_000)
    ratio = float(_read_column(window, "p50 / tuesday")[0].split()[0])
    assert ratio == pytest.approx(103.0 / 153.0, rel=5e-3)
    assert _read_column(window, "p50 / tuesday")[2] == ""
    window.actions_by_key["drop_baselines"].trigger()
    qtbot.waitUntil(lambda: _grey(monday) == [], timeout=20_000)
    assert _read_column(window, "p50 / tuesday") == []
