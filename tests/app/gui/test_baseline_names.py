"""Baselines by names of the user's own, typed with real keys: taken, undone, kept, refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
from tests.app.gui.hands import asked_for_menu, do, menu_of, palette, words
from tests.app.gui.runs import new_run, record_round, records
from tests.app.gui.windows import dialogs, open_run

CASES = tuple(Case("mlp", "fake", threads=threads) for threads in (1, 2, 3))
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def _run(path: Path) -> Path:
    with new_run(path, CASES) as folder:
        for place, case in enumerate(CASES):
            base = 100.0 * (1 + place)
            record_round(folder, case, 0, records([base + k % 7 for k in range(300)]))
    return path


@pytest.fixture
def monday(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> MainWindow:
    """A window in which two rows of the open run and another run are baselines."""
    open_run(window, qtbot, _run(tmp_path / "monday"))
    _press_baseline(window, 0)
    _press_baseline(window, 1)
    window.feed.baselines.add_run(_run(tmp_path / "tuesday"))
    qtbot.waitUntil(lambda: len(_names(window)) == 3, timeout=20_000)
    with qtbot.waitActive(window):
        window.activateWindow()
    return window


def _press_baseline(window: MainWindow, row: int) -> None:
    window.table.view.setCurrentIndex(window.table.filter.index(row, 0))
    window.table.baseline_action.trigger()


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


def test_a_name_is_typed_taken_everywhere_undone_and_redone(
    monday: MainWindow, qtbot: QtBot
) -> None:
    texts = _names(monday)
    assert texts == ["mlp · fake · 1 thread", "mlp · fake · 2 threads", "tuesday"]
    QTest.keyClick(monday, Qt.Key.Key_F2)
    _type_name(monday, "  after   the patch ")
    new_names = [*texts[:2], "after the patch"]
    qtbot.waitUntil(lambda: _names(monday) == new_names, timeout=10_000)
    assert "baseline after the patch" in _legend(monday)
    assert "p50 / after the patch" in _headings(monday)
    QTest.keyClick(monday, Qt.Key.Key_Z, CONTROL)
    qtbot.waitUntil(lambda: _names(monday) == texts, timeout=10_000)
    assert "p50 / tuesday" in _headings(monday) and "baseline tuesday" in _legend(monday)
    QTest.keyClick(monday, Qt.Key.Key_Z, CONTROL | SHIFT)
    qtbot.waitUntil(lambda: _names(monday) == new_names, timeout=10_000)


def test_a_row_is_named_from_its_menu_and_the_name_outlives_the_window(
    monday: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    rows = monday.series_list.baselines.rows
    position = rows.visualItemRect(rows.item(0)).center()
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=position)
    asked_for_menu(rows.viewport(), QContextMenuEvent.Reason.Mouse, position)
    menu = menu_of(qtbot)
    assert words(menu) == ["Rename baseline…", "Clear baselines"]
    do(menu, "Rename")
    _type_name(monday, "one thread")
    qtbot.waitUntil(lambda: _names(monday)[0] == "one thread", timeout=10_000)
    monday.close()
    later = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(later)
    later.show()
    open_run(later, qtbot, tmp_path / "monday")
    _press_baseline(later, 0)
    qtbot.waitUntil(lambda: _names(later) == ["one thread"], timeout=20_000)
    later.close()


def test_the_palette_finds_a_baseline_and_an_empty_name_is_its_own_again(
    monday: MainWindow, qtbot: QtBot
) -> None:
    monday.series_list.baselines.renamed.emit(
        monday.series_list.baselines.baselines[1].key, "two threads"
    )
    qtbot.waitUntil(lambda: _names(monday)[1] == "two threads", timeout=10_000)
    dialog = palette(monday)
    QTest.keyClicks(dialog.line, "rename baseline two")
    QTest.keyClick(dialog.line, Qt.Key.Key_Return)
    _type_name(monday, "")
    qtbot.waitUntil(lambda: _names(monday)[1] == "mlp · fake · 2 threads", timeout=10_000)


def test_a_name_that_another_has_is_refused_with_a_remedy(monday: MainWindow, qtbot: QtBot) -> None:
    texts = _names(monday)
    QTest.keyClick(monday, Qt.Key.Key_F2)
    _type_name(monday, texts[0])
    qtbot.waitUntil(lambda: bool(dialogs(monday)), timeout=10_000)
    (dialog,) = dialogs(monday)
    assert "nother baseline is called" in dialog.whole
    dialog.close()
    assert _names(monday) == texts


def test_without_a_baseline_there_is_none_to_rename(window: MainWindow) -> None:
    window.actions_by_key["rename_baseline"].trigger()
    (dialog,) = dialogs(window)
    assert "Ctrl+B" in dialog.whole
    dialog.close()


def test_names_that_are_damaged_count_as_not_there(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "window.ini")
    for content in ("{", "[1]", '{"a": 2}'):
        preferences._store.setValue("baseline_names", content)
        assert preferences.baseline_names() == {}
