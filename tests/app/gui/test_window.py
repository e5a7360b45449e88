"""The whole window on the offscreen platform, over real batch processes and real folders."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QMessageBox

from app.cases.case import Case
from app.gui.errors import ErrorDialog
from app.gui.export_view import export
from app.gui.preferences import Settings
from app.gui.views import PAGES, VIEWS
from app.gui.window import MainWindow
from app.plan.draft import draft_of
from app.plan.plan import parse_plan
from app.results.folder import is_being_written
from exporters import own
from exporters.types import GraphlapError
from tests.app.gui.runs import (
    fake_plan,
    new_run,
    record_round,
    records,
    tiny_model,
    wait_for_end,
)

TIMEOUT_MS = 60_000
CASES = (Case("cnn_tiny", "fake"), Case("cnn_tiny", "fake", threads=2), Case("mlp", "fake"))


@pytest.fixture
def window(qtbot, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = Settings(tmp_path / "window.ini")
    settings.runs_folder = tmp_path / "runs"
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.show()
    children = []
    made.control.started.connect(lambda _folder: children.append(made.control.child))
    yield made
    made.close()
    for child in children:
        if child.exit_code() is None:
            os.killpg(child.pid, signal.SIGTERM)
            assert wait_for_end(child) is not None


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with new_run(tmp_path / "run", CASES) as folder:
        record_round(folder, CASES[0], 0, records([50.0 + k % 7 for k in range(400)]))
        record_round(folder, CASES[1], 0, records([80.0 + k % 9 for k in range(400)]))
        record_round(folder, CASES[2], 0, records([]), status="crashed")
    return tmp_path / "run"


def _run_plan(window: MainWindow, qtbot, plan) -> None:
    window.editor.set_draft(draft_of(plan), "test")
    qtbot.waitUntil(window.editor.run_button.isEnabled, timeout=10_000)
    window.editor.run_button.click()
    qtbot.waitUntil(lambda: window.control.state == "running", timeout=10_000)


def _statuses(window: MainWindow) -> list[str]:
    return [one.status for one in window.table.model.series]


def _settled(window: MainWindow, qtbot) -> None:
    def there() -> bool:
        state = window.feed.state
        measured = [one for one in state.series if one.status == "ok"] if state else []
        return bool(state) and all(one.summary for one in measured if one.key in state.shown)

    qtbot.waitUntil(there, timeout=TIMEOUT_MS)


def _dialogs(window: MainWindow) -> list[ErrorDialog]:
    return [dialog for dialog in window.findChildren(ErrorDialog) if dialog.isVisible()]


def _open(window: MainWindow, qtbot, folder: Path) -> None:
    window.open_run(folder)
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=10_000)


def test_a_sweep_run_from_the_editor_ends_as_rows_with_summaries(window, qtbot, tmp_path) -> None:
    model = tiny_model(tmp_path / "tiny.onnx")
    data = {"models": [str(model)], "runtimes": ["ort-cpu"]}
    _run_plan(window, qtbot, parse_plan({"name": "real", "rounds": 1, "sweeps": [data]}, "test"))
    qtbot.waitUntil(lambda: _statuses(window) == ["ok"], timeout=TIMEOUT_MS)
    _settled(window, qtbot)
    (series,) = window.feed.state.series
    assert series.runtime == "ort-cpu"
    assert series.summary.iterations == series.counts.sum()
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: "finished" in window.progress.bar.format(), timeout=10_000)
    window.log.read_on()
    assert "results.csv" in window.log.toPlainText()


def test_a_worker_that_crashes_is_a_row_with_its_reason(window, qtbot, tmp_path) -> None:
    model = tiny_model(tmp_path / "tiny.onnx")
    plan = fake_plan(model, fail=["none", "crash"], distribution=["bimodal"])
    _run_plan(window, qtbot, plan)
    qtbot.waitUntil(lambda: sorted(_statuses(window)) == ["crashed", "ok"], timeout=TIMEOUT_MS)
    crashed = next(one for one in window.table.model.series if one.status == "crashed")
    assert "SIGSEGV" in crashed.row["reason"]


def test_pause_and_stop_from_the_window(window, qtbot, tmp_path) -> None:
    _run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=20))
    actions = window.actions_by_key
    qtbot.waitUntil(lambda: "measuring" in _statuses(window), timeout=TIMEOUT_MS)
    actions["pause"].trigger()
    qtbot.waitUntil(lambda: window.feed.state.live.state == "paused", timeout=TIMEOUT_MS)
    assert actions["pause"].text() == "&Go on"
    actions["stop"].trigger()
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)
    qtbot.waitUntil(actions["resume_run"].isEnabled, timeout=10_000)


def test_closing_the_window_leaves_nothing_but_the_run(window, qtbot, tmp_path) -> None:
    threads = threading.active_count()
    _run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=3))
    qtbot.waitUntil(lambda: "measuring" in _statuses(window), timeout=TIMEOUT_MS)
    folder, pid = window.control.folder, window.control.child.pid
    window.close()
    own = psutil.Process().children(recursive=False)
    assert [child.pid for child in own] == [pid]
    assert is_being_written(folder)
    assert not [t for t in window.findChildren(QTimer) if t.isActive() and t.interval() > 0]
    assert threading.active_count() <= threads


def test_the_same_cases_from_the_window_and_from_the_copied_command(
    window, qtbot, tmp_path
) -> None:
    import shlex

    from app.plan.expand import expand
    from app.plan.flags import parse, plan_from_flags

    plan = fake_plan(tiny_model(tmp_path / "tiny.onnx"), latency_us=[5.0, 50.0])
    window.editor.set_draft(draft_of(plan), "test")
    window.actions_by_key["copy_command"].trigger()
    line = QGuiApplication.clipboard().text().removeprefix(own.PROGRAM)
    told = {case.case_id for case in expand(plan_from_flags(parse(shlex.split(line))))}
    _run_plan(window, qtbot, plan)
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=TIMEOUT_MS)
    assert {case.case_id for case in window.feed.state.manifest.cases} == told


def test_a_sweep_by_mistake_is_asked_about_first(window, monkeypatch) -> None:
    from app.plan.estimate import Estimate

    asked: list[str] = []

    def refuse(_parent, _title, text, *_):
        asked.append(text)
        return QMessageBox.StandardButton.No

    monkeypatch.setattr(QMessageBox, "question", refuse)
    plan = parse_plan({"sweeps": [{"models": ["cnn_tiny"]}]}, "test")
    window.run_plan(plan, Estimate(100_000, 2, 600_000.0, 900_000.0, exact=False))
    assert "100,000 cases" in asked[0]
    assert window.control.state == "idle"


def test_closing_with_a_queue_is_asked_about(window, monkeypatch) -> None:
    answers = [QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes]
    monkeypatch.setattr(QMessageBox, "question", lambda *_: answers.pop(0))
    window.control.queue.add(parse_plan({"sweeps": [{"models": ["mlp"]}]}, "test"))
    assert not window.close()
    assert window.isVisible()
    assert window.close()


def test_every_view_takes_a_run_and_is_exported(window, qtbot, run, tmp_path) -> None:
    _open(window, qtbot, run)
    _settled(window, qtbot)
    for page in PAGES:
        window.docks.go_to(page)
        qtbot.wait(120)
    for spec in VIEWS:
        for ending in ("png", "svg", "csv"):
            path = tmp_path / f"{spec.key}.{ending}"
            export(window.views[spec.key], path)
            assert path.stat().st_size > 0, path.name
    export(window.table, tmp_path / "table.csv")
    assert "cnn_tiny" in (tmp_path / "table.csv").read_text()
    with pytest.raises(GraphlapError, match="end it in"):
        export(window.table, tmp_path / "table.doc")


def test_rows_that_are_selected_are_the_series_that_are_shown(window, qtbot, run) -> None:
    _open(window, qtbot, run)
    key = CASES[1].case_id
    window.table.select([key])
    qtbot.waitUntil(lambda: window.feed.state.shown == (key,), timeout=10_000)
    qtbot.waitUntil(lambda: [s.key for s in window.views["histogram"].series] == [key])
    window.actions_by_key["follow"].trigger()
    qtbot.waitUntil(lambda: len(window.feed.state.shown) == 3, timeout=10_000)


def test_filter_and_baseline_reach_the_table(window, qtbot, run) -> None:
    _open(window, qtbot, run)
    window.table.filter_box.setText("mlp")
    assert window.table.filter.rowCount() == 1
    window.table.filter_box.clear()
    window.table.view.selectRow(0)
    window.table.toggle_baseline()
    assert window.table.model.baseline is not None


def test_a_layout_is_saved_restored_kept_and_reset(window, qtbot, tmp_path) -> None:
    log = window.docks.docks["log"]
    log.hide()
    window.actions_by_key["keep_layout"].trigger()
    window.docks.reset()
    assert not log.isHidden()
    window.actions_by_key["custom_layout"].trigger()
    assert log.isHidden()
    window.docks.go_to("results")
    window.docks.go_to("measure")
    assert log.isHidden(), "a page comes back as it was left"
    window.close()
    again = MainWindow(Settings(tmp_path / "window.ini"))
    qtbot.addWidget(again)
    again.show()
    assert again.docks.docks["log"].isHidden(), "and so it does in the next start"
    again.close()


def test_the_theme_is_switched_everywhere_and_remembered(window, qtbot, run, tmp_path) -> None:
    _open(window, qtbot, run)
    window.actions_by_key["dark"].trigger()
    assert all(view.theme.dark for view in window.views.values())
    assert window.palette().window().color().lightness() < 128
    assert Settings(tmp_path / "window.ini").theme == "dark"
    window.actions_by_key["dark"].trigger()
    assert not any(view.theme.dark for view in window.views.values())


def test_a_folder_that_is_no_run_is_one_dialog(window, qtbot, tmp_path) -> None:
    window.open_run(tmp_path)
    qtbot.waitUntil(lambda: len(_dialogs(window)) == 1, timeout=10_000)
    assert "is no run folder" in _dialogs(window)[0].text
    _dialogs(window)[0].close()


def test_a_folder_that_vanishes_is_one_dialog_and_the_window_lives_on(window, qtbot, run) -> None:
    _open(window, qtbot, run)
    shutil.rmtree(run)
    qtbot.waitUntil(lambda: len(_dialogs(window)) == 1, timeout=10_000)
    assert "is gone" in _dialogs(window)[0].text
    qtbot.wait(300)
    assert len(_dialogs(window)) == 1
    _dialogs(window)[0].close()


def test_two_windows_follow_one_run_and_the_second_says_that_it_watches(
    window, qtbot, tmp_path
) -> None:
    with new_run(tmp_path / "run", CASES):
        second = MainWindow(Settings(tmp_path / "second.ini"))
        qtbot.addWidget(second)
        for each in (window, second):
            _open(each, qtbot, tmp_path / "run")
        qtbot.waitUntil(lambda: "only watches" in second.statusBar().currentMessage())
        second.close()


def test_a_run_folder_dropped_on_the_window_is_opened(window, qtbot, run) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(run))])
    window.dropEvent(
        QDropEvent(
            QPointF(5, 5),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=10_000)
    assert window.settings.recent_runs()[0] == run


def test_the_first_result_is_two_clicks_away(window, qtbot) -> None:
    window.welcome.try_button.click()
    qtbot.waitUntil(window.editor.run_button.isEnabled, timeout=10_000)
    with qtbot.waitSignal(window.editor.run_asked, timeout=10_000) as asked:
        window.editor.run_asked.disconnect(window.run_plan)
        window.editor.run_button.click()
    plan, found = asked.args
    assert plan.sweeps[0].runtimes == ("ort-cpu",)
    assert found.longest_s < 60


def test_every_action_is_reached_by_keyboard_and_none_hides_another(window) -> None:
    keys = [a.shortcut().toString() for a in window.actions_by_key.values() if a.shortcut()]
    taken = [key for key in keys if key]
    assert len(set(taken)) == len(taken)
    titles = window.menuBar().actions()
    reachable = {a for title in titles for a in title.menu().actions()}
    assert set(window.actions_by_key.values()) <= reachable
    for button in window.tool_bar.findChildren(QAbstractButton):
        if button.isVisible():
            assert button.accessibleName()


def test_repainting_loses_no_reference_to_none(window, qtbot, run) -> None:
    _open(window, qtbot, run)
    view = window.views["histogram"]
    view.draw_now()
    qtbot.wait(50)
    gc.collect()
    before = sys.getrefcount(None)
    for _ in range(30):
        view.mark_dirty()
        view.refresh()
        view.canvas.grab()
    gc.collect()
    assert sys.getrefcount(None) >= before - 30, "some binding drops a reference on each paint"
