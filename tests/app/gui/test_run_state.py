"""The state that the window shows is that of the process that measures, whatever becomes of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.window import MainWindow
from tests.app.gui.runs import fake_plan, tiny_model
from tests.app.gui.windows import TIMEOUT_MS, run_plan, statuses


@pytest.mark.rare
def test_a_killed_process_is_shown_as_interrupted_and_resumed_as_running(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=20))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    assert window.control.child is not None
    os.killpg(window.control.child.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.progress.word.text() == "INTERRUPTED", timeout=TIMEOUT_MS)
    qtbot.waitUntil(window.actions_by_key["resume_run"].isEnabled, timeout=TIMEOUT_MS)
    assert window.control.state == "idle"
    assert "measuring" not in statuses(window)

    window.actions_by_key["resume_run"].trigger()
    words = {window.progress.word.text()}
    window.feed.beat.connect(lambda: words.add(window.progress.word.text()))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    assert words == {""}, "no word of the process before while another one runs"
    phase = window.progress.values["phase"]
    qtbot.waitUntil(lambda: phase.text() == "measuring", timeout=TIMEOUT_MS)
    window.actions_by_key["stop"].trigger()
    qtbot.waitUntil(lambda: window.progress.word.text() == "STOPPED", timeout=TIMEOUT_MS)


@pytest.mark.rare
def test_a_stopped_run_that_is_resumed_is_shown_as_running(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=20))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    window.actions_by_key["stop"].trigger()
    qtbot.waitUntil(lambda: window.progress.word.text() == "STOPPED", timeout=TIMEOUT_MS)
    qtbot.waitUntil(window.actions_by_key["resume_run"].isEnabled, timeout=TIMEOUT_MS)
    words = set[str]()
    window.actions_by_key["resume_run"].trigger()
    window.feed.beat.connect(lambda: words.add(window.progress.word.text()))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    assert words == {""}, "no word of the process before while another one runs"
    window.actions_by_key["stop"].trigger()
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)
