"""The whole window on the offscreen platform, over real run folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.cases.errors import PlanError
from app.gui.look.preferences import Preferences
from app.gui.main import _check_paths, main
from app.gui.view_commands import export
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from app.run_folder.manifest import MANIFEST
from exporters.types import GraphlapError
from tests.app.gui.runs import measured_run, new_run, record_round, records, steady
from tests.app.gui.windows import activate, dialogs, open_run, seen, wait_for_summaries
from tests.app.run_folder.runs import damage_line

CASES = (Case("cnn_tiny", "fake"), Case("cnn_tiny", "fake", threads=2), Case("mlp", "fake"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run of `CASES`: two were measured, one crashed."""

    def latencies_us(place: int, number: int) -> list[float]:
        return steady(place, number) if place < 2 else []

    return measured_run(tmp_path / "run", CASES, latencies_us, statuses={2: "crashed"})


def test_every_view_takes_a_run_has_names_for_the_keyboard_and_is_exported(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path
) -> None:
    open_run(window, qtbot, run)
    wait_for_summaries(window, qtbot)
    control_count = 0
    for key in ["welcome", "editor", "results", "queue", "log", *(spec.key for spec in VIEWS)]:
        window.frame.show_key(key)
        qtbot.wait(40)
        for widget in window.findChildren(QWidget):
            takes = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.focusProxy()
            # A part of a control that speaks for it, or of Qt's own.
            is_inner = isinstance(widget.parentWidget(), (QLineEdit, QComboBox))
            if takes and widget.isVisible() and not is_inner and widget.objectName()[:3] != "qt_":
                control_count += 1
                text = widget.text() if isinstance(widget, QAbstractButton) else ""
                assert widget.accessibleName() or text, (key, widget)
    with pytest.raises(GraphlapError, match="end it in"):
        export(window.table, tmp_path / "table.doc")
    window.actions_by_key["dark"].trigger()
    assert all(view.theme.dark for view in window.views.by_key.values())
    assert window.palette().window().color().lightness() < 128
    assert Preferences(tmp_path / "window.ini").theme == "dark"


def test_folded_panes_and_the_view_in_front_are_there_again_in_the_next_start(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, run: Path
) -> None:
    window.resize(1280, 800)
    assert window.start_page.isVisible()
    open_run(window, qtbot, run)
    assert not window.start_page.isVisible()
    window.actions_by_key["cases"].trigger()
    window.actions_by_key["details"].trigger()
    window.frame.show_key("percentiles")
    window.close()
    again = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(again)
    again.show()
    assert again.start_page.isVisible(), "whenever no run is open"
    open_run(again, qtbot, run)
    assert again.frame.current == "distribution"
    assert again.views.by_key["percentiles"].isVisible()
    assert not again.series_list.isVisible() and not again.table.isVisible()
    again.actions_by_key["reset_layout"].trigger()
    assert again.series_list.isVisible() and again.table.isVisible()
    again.close()


def test_what_is_no_run_or_is_gone_is_one_dialog_and_the_window_lives_on(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path
) -> None:
    def told() -> str:
        qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=10_000)
        qtbot.wait(100)
        (dialog,) = dialogs(window)
        dialog.close()
        return dialog.whole

    for action in ("baseline_run", "report"):
        window.actions_by_key[action].trigger()
        assert "Ctrl+O" in told(), "without a run there is nothing to compare"
    open_run(window, qtbot, run)
    for take in (window.open_run, window.compare_with, window.feed.baselines.add_run):
        take(tmp_path)
        assert "is no run folder" in told()
        assert window.feed.folder == run, "the run that was open stays open"
    assert window.feed.baselines.runs == ()
    window.table.select([CASES[0].case_id])
    qtbot.waitUntil(lambda: seen(window).visible_keys == (CASES[0].case_id,), timeout=10_000)
    shutil.rmtree(run)
    assert "is gone" in told()


def test_a_damaged_journal_is_told_with_its_cause_and_remedy_and_the_rest_is_shown(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    folder = run.rename(run.with_name("run: monday"))
    (journal,) = (folder / "journal").glob("*.jsonl")

    def told() -> list[str]:
        qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=10_000)
        (dialog,) = dialogs(window)
        dialog.close()
        return dialog.whole.split("\n")

    lines = journal.read_text().split("\n")
    (number,) = (n for n, line in enumerate(lines, 1) if '"crashed"' in line)
    damage_line(folder, number)
    open_run(window, qtbot, folder)
    told()
    assert [case_series.counts.sum() for case_series in seen(window).series[:2]] == [400, 400]
    with journal.open("ab") as file:
        file.write(b'{"kind" "round"}\n')
    cause, remedy = told()
    assert str(journal) in cause and "is damaged" in cause
    assert remedy == "remove that line and resume the run"
    assert "is damaged" in window.badge.headline and window.badge.property("tone") == "error"
    assert not window.actions_by_key["resume_run"].isEnabled()


def test_the_keyboard_goes_through_all_panes_and_never_where_nobody_sees_it(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    def press(key: Qt.Key) -> QWidget:
        QTest.keyClick(QApplication.focusWidget() or window, key)
        focus_widget = QApplication.focusWidget()
        assert focus_widget is not None
        return focus_widget

    open_run(window, qtbot, run)
    activate(qtbot, window)
    panes = (window.header, window.series_list, window.view_area, window.frame.details)
    reached = [press(Qt.Key.Key_F6) for _ in range(2 * len(panes))]
    places = [next(k for k, p in enumerate(panes) if p.isAncestorOf(w)) for w in reached]
    assert places[: len(panes)] == places[len(panes) :]
    assert sorted(places[: len(panes)]) == list(range(len(panes)))
    window.frame.show_key("histogram")
    window.views.by_key["histogram"].fit_button.setFocus()
    for _ in range(30):
        focus_widget = press(Qt.Key.Key_Tab)
        for key in ("percentiles", "timeline"):
            assert not window.views.by_key[key].isAncestorOf(focus_widget), key


def test_a_window_in_which_nothing_moves_stands_still_and_wakes_for_what_does(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    with new_run(tmp_path / "run", CASES) as folder:
        record_round(folder, CASES[0], 0, records([50.0] * 400))
    open_run(window, qtbot, tmp_path / "run")
    qtbot.waitUntil(lambda: not window.feed.is_awake, timeout=30_000)

    def moving() -> list[QTimer]:
        return [t for t in window.findChildren(QTimer) if t.isActive() and t.interval() > 0]

    qtbot.waitUntil(lambda: not moving(), timeout=30_000)
    assert QGuiApplication.styleHints().cursorFlashTime() == 0, "each blink paints"
    window.table.select([CASES[1].case_id])
    qtbot.waitUntil(lambda: seen(window).visible_keys == (CASES[1].case_id,), timeout=10_000)
    window.frame.show_key("operators")
    assert window.feed.is_awake, "a view that is looked at is fed"


def test_every_action_is_reached_by_keyboard_and_none_hides_another(window: MainWindow) -> None:
    shortcuts = (action.shortcut().toString() for action in window.actions_by_key.values())
    keys = [key for key in shortcuts if key]
    assert len(set(keys)) == len(keys)
    menus = window.header.menu_bar.findChildren(QMenu)
    reachable = {action for menu in menus for action in menu.actions()}
    assert set(window.actions_by_key.values()) <= reachable


def test_a_window_shows_two_runs_and_no_third(tmp_path: Path) -> None:
    plan, *folders = (tmp_path / name for name in ("plan.toml", "a", "b", "c"))
    for folder in folders:
        folder.mkdir()
        (folder / MANIFEST).touch()
    plan.touch()
    assert _check_paths(folders[:2], named=False) == folders[:2]
    for paths in (folders, [folders[0], plan]):
        with pytest.raises(PlanError):
            main(paths)
