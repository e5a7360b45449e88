"""The Run menu over real batch processes: what is measured, steered, refused and left alone."""

from __future__ import annotations

import shlex
import threading
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.gui.window import MainWindow
from app.plan.command_line import parse
from app.plan.estimate import Estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import parse_plan
from app.run_folder.folder import is_being_written
from exporters import install_layout
from tests.app.gui.runs import fake_plan, tiny_model
from tests.app.gui.synthetic import summary_of
from tests.app.gui.windows import (
    TIMEOUT_MS,
    run_plan,
    seen,
    statuses,
    wait_for_summaries,
)


def test_a_sweep_run_from_the_editor_ends_as_rows_with_summaries_whose_model_can_be_opened(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model(tmp_path / "tiny.onnx")
    data = {"models": [str(model)], "runtimes": ["ort-cpu"]}
    run_plan(window, qtbot, parse_plan({"name": "real", "rounds": 1, "sweeps": [data]}, "test"))
    qtbot.waitUntil(lambda: statuses(window) == ["ok"], timeout=TIMEOUT_MS)
    wait_for_summaries(window, qtbot)
    (series,) = seen(window).series
    assert series.runtime == "ort-cpu"
    assert summary_of(series).iterations == series.counts.sum()
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: "finished" in window.progress.bar.format(), timeout=10_000)
    window.log.read_on()
    assert "results.csv" in window.log.toPlainText()
    path = seen(window).details[series.key].model.path
    opened = {path: False}
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.pop(url.toLocalFile()))
    window.table.select([series.key])
    with qtbot.waitSignal(window.rows.failed) as blocker:
        window.rows.open_graph()
    assert not opened and path in str(blocker.args[0])


@pytest.mark.alone
def test_closing_the_window_leaves_nothing_but_the_run(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    threads, old_children = threading.active_count(), set(psutil.Process().children())
    run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=3))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    folder, child = window.control.folder, window.control.child
    assert folder is not None and child is not None
    window.close()
    assert [process.pid for process in set(psutil.Process().children()) - old_children] == [
        child.pid
    ]
    assert is_being_written(folder)
    assert not [t for t in window.findChildren(QTimer) if t.isActive() and t.interval() > 0]
    assert threading.active_count() <= threads


def test_the_same_cases_from_the_window_and_from_the_copied_command(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:

    plan = fake_plan(tiny_model(tmp_path / "tiny.onnx"), latency_us=[5.0, 50.0])
    window.editor.set_draft(plan, "test")
    window.actions_by_key["copy_command"].trigger()
    line = QGuiApplication.clipboard().text().removeprefix(install_layout.PROGRAM)
    case_ids = {case.case_id for case in expand(plan_from_options(parse(shlex.split(line))))}
    run_plan(window, qtbot, plan)
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=TIMEOUT_MS)
    assert {case.case_id for case in seen(window).manifest.cases} == case_ids


def test_a_sweep_by_mistake_is_asked_about_first(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:

    texts: list[str] = []

    def refuse(_parent: object, _title: str, text: str) -> QMessageBox.StandardButton:
        texts.append(text)
        return QMessageBox.StandardButton.No

    monkeypatch.setattr(QMessageBox, "question", refuse)
    plan = parse_plan({"sweeps": [{"models": ["cnn_tiny"]}]}, "test")
    window.runs.run_plan(plan, Estimate(100_000, 2, 600_000.0, 900_000.0, exact=False))
    assert "100,000 cases" in texts[0]
    assert window.control.state == "idle"


def test_closing_with_a_queue_is_asked_about(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes]
    monkeypatch.setattr(QMessageBox, "question", lambda *_: answers.pop(0))
    window.control.queue.add(parse_plan({"sweeps": [{"models": ["mlp"]}]}, "test"))
    assert not window.close()
    assert window.isVisible()
    assert window.close()


def test_the_first_result_is_one_click_away(window: MainWindow, qtbot: QtBot) -> None:
    window.editor.run_asked.disconnect(window.runs.run_plan)
    with qtbot.waitSignal(window.editor.run_asked, timeout=10_000) as blocker:
        window.start_page.try_button.click()
    plan, estimate = blocker.args
    assert plan.sweeps[0].runtimes == ("ort-cpu",)
    assert estimate.longest_s < 60
