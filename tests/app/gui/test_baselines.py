"""Baselines in the whole window: of the run itself and of others, drawn, judged, named."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.look.preferences import Preferences
from app.gui.plots.base import PlotView
from app.gui.plots.histogram import HistogramView
from app.gui.window import MainWindow
from tests.app.gui.runs import new_run, record_round, records
from tests.app.gui.windows import asked_for_menu, dialogs, do, menu_of, open_run, words

CASES = tuple(Case("mlp", "fake", threads=threads) for threads in (1, 2, 3))
OTHERS = (CASES[0], CASES[1], Case("cnn_tiny", "fake"))


def _run(path: Path, latency_us: float, cases: tuple[Case, ...]) -> Path:
    with new_run(path, cases, rounds=3) as folder:
        for place, case in enumerate(cases):
            for number in range(3):
                base = latency_us * (1 + place) * (1.0 + 0.002 * number)
                record_round(folder, case, number, records([base + k % 7 for k in range(600)]))
    return path


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


def test_cases_of_the_run_are_baselines_several_and_named(
    window: MainWindow, qtbot: QtBot, monday: HistogramView
) -> None:
    _press_baseline(window, 0)
    qtbot.waitUntil(lambda: len(_grey(monday)) == 1, timeout=20_000)
    first = "baseline mlp · fake · 1 thread"
    assert _grey(monday) == [first]
    assert len(monday.plots) == 2, "the strip of ratios is below"
    qtbot.waitUntil(lambda: bool(monday.strip.layer.moved), timeout=20_000)
    by_key = dict(
        zip([entry.key for entry in monday.series[1:]], monday.strip.layer.moved, strict=True)
    )
    for key, times in ((CASES[1].case_id, 2.0), (CASES[2].case_id, 3.0)):
        median = next(entry for entry in by_key[key].shifts if entry.quantile == 0.5)
        assert median.ratio == pytest.approx((100.0 * times + 3) / 103.0, rel=2e-3)
        assert median.interval is not None
        assert median.interval.low <= median.ratio <= median.interval.high
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
    qtbot.waitUntil(lambda: bool(monday.strip.layer.moved), timeout=20_000)
    for view in ("cumulative", "percentiles", "boxes"):
        window.frame.show_key(view)
        plot_view = window.views.by_key[view]
        qtbot.waitUntil(partial(_has_plots, plot_view), timeout=20_000)
        assert [baseline.name for baseline in window.series_list.baselines.baselines] == ["tuesday"]
    window.frame.show_key("histogram")
    qtbot.waitUntil(lambda: any(_read_column(window, "p50 / tuesday")), timeout=60_000)
    ratio = float(_read_column(window, "p50 / tuesday")[0].split()[0])
    assert ratio == pytest.approx(103.0 / 153.0, rel=5e-3)
    assert _read_column(window, "p50 / tuesday")[2] == ""
    window.actions_by_key["drop_baselines"].trigger()
    qtbot.waitUntil(lambda: _grey(monday) == [], timeout=20_000)
    assert _read_column(window, "p50 / tuesday") == []


def _short_run(path: Path) -> Path:
    with new_run(path, CASES) as folder:
        for place, case in enumerate(CASES):
            base = 100.0 * (1 + place)
            record_round(folder, case, 0, records([base + k % 7 for k in range(300)]))
    return path


@pytest.fixture
def named(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> MainWindow:
    """A window in which two rows of the open run and another run are baselines."""
    open_run(window, qtbot, _short_run(tmp_path / "named"))
    _press_baseline(window, 0)
    _press_baseline(window, 1)
    window.feed.baselines.add_run(_short_run(tmp_path / "tuesday"))
    qtbot.waitUntil(lambda: len(_names(window)) == 3, timeout=20_000)
    with qtbot.waitActive(window):
        window.activateWindow()
    return window


def _names(window: MainWindow) -> list[str]:
    rows = window.series_list.baselines.rows
    return [rows.item(row).text() for row in range(rows.count())]


def _type_name(window: MainWindow, text: str) -> None:
    """Into the line that stands over the row whose name is asked for."""
    (line,) = window.series_list.baselines.rows.findChildren(QLineEdit)
    line.selectAll()
    QTest.keyClick(line, Qt.Key.Key_Delete)
    QTest.keyClicks(line, text)
    QTest.keyClick(line, Qt.Key.Key_Return)


def _legend(window: MainWindow) -> set[str]:
    window.frame.show_key("histogram")
    view = window.views.by_key["histogram"]
    view.refresh()
    return {e.text for e in view.legend._entries if e.text.startswith("baseline ")}


def _headings(window: MainWindow) -> list[str]:
    return [
        column.title for column in window.table.model.columns if column.title.startswith("p50 / ")
    ]


def test_a_name_is_typed_and_taken_everywhere(named: MainWindow, qtbot: QtBot) -> None:
    texts = _names(named)
    assert texts == ["mlp · fake · 1 thread", "mlp · fake · 2 threads", "tuesday"]
    QTest.keyClick(named, Qt.Key.Key_F2)
    _type_name(named, "  after   the patch ")
    new_names = [*texts[:2], "after the patch"]
    qtbot.waitUntil(lambda: _names(named) == new_names, timeout=10_000)
    assert "baseline after the patch" in _legend(named)
    assert "p50 / after the patch" in _headings(named)


def test_a_row_is_named_from_its_menu_and_the_name_outlives_the_window(
    named: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    rows = named.series_list.baselines.rows
    position = rows.visualItemRect(rows.item(0)).center()
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=position)
    asked_for_menu(rows.viewport(), QContextMenuEvent.Reason.Mouse, position)
    menu = menu_of(qtbot)
    assert words(menu) == ["Rename baseline…", "Clear baselines"]
    do(menu, "Rename")
    _type_name(named, "one thread")
    qtbot.waitUntil(lambda: _names(named)[0] == "one thread", timeout=10_000)
    named.close()
    later = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(later)
    later.show()
    open_run(later, qtbot, tmp_path / "named")
    _press_baseline(later, 0)
    qtbot.waitUntil(lambda: _names(later) == ["one thread"], timeout=20_000)
    later.close()


def test_a_name_that_another_has_is_refused_with_a_remedy(named: MainWindow, qtbot: QtBot) -> None:
    texts = _names(named)
    QTest.keyClick(named, Qt.Key.Key_F2)
    _type_name(named, texts[0])
    qtbot.waitUntil(lambda: bool(dialogs(named)), timeout=10_000)
    (dialog,) = dialogs(named)
    assert "nother baseline is called" in dialog.whole
    dialog.close()
    assert _names(named) == texts
