"""What the window remembers, its typeface, and its dialogs of errors."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.errors import ErrorHooks, show_error
from app.gui.look.preferences import Preferences
from exporters.types import GraphlapError


def test_what_is_remembered_comes_back_and_damaged_or_older_values_count_as_not_there(
    tmp_path: Path,
) -> None:
    path = tmp_path / "window.ini"
    preferences = Preferences(path)
    preferences.save_layout("measure", QByteArray(b"docks"))
    preferences.theme = "dark"
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        preferences.add_recent(tmp_path / name)
    preferences.sync()
    again = Preferences(path)
    assert again.layout("measure") == QByteArray(b"docks")
    assert [folder.name for folder in again.recent_runs()] == ["a", "b"], "newest first"
    store = QSettings(str(path), QSettings.Format.IniFormat)
    store.setValue("layout/version", 0)
    store.sync()
    again = Preferences(path)
    assert again.layout("measure").isEmpty()
    assert again.theme == "dark", "a layout of another version is forgotten and nothing else"
    damaged = tmp_path / "damaged.ini"
    damaged.write_text(
        "[General]\ntheme=@Variant(\\0)\nrecent_runs=@Invalid()\n[layout]\nversion=1\nmeasure=7\n"
    )
    preferences = Preferences(damaged)
    assert (preferences.theme, preferences.recent_runs()) == ("light", ())
    assert preferences.layout("measure").isEmpty()


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    return widget


def test_an_error_is_a_sentence_that_can_be_copied_and_a_fault_brings_its_traceback(
    window: QWidget,
) -> None:
    dialog = show_error(GraphlapError("the run is gone", "open another"), window)
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == "the run is gone\nopen another"
    dialog.close()
    try:
        _ = 1 / 0
    except ZeroDivisionError as error:
        dialog = show_error(error, window)
    assert "test_preferences.py" in dialog.whole and "ZeroDivisionError" in dialog.whole
    dialog.close()


def test_both_hooks_lead_to_one_dialog_and_are_put_back(
    window: QWidget, qtbot: QtBot, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks_before = sys.excepthook, threading.excepthook
    hooks = ErrorHooks(window)
    try:
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        qtbot.waitUntil(lambda: hooks.dialog is not None)
        first = hooks.dialog
        assert first is not None
        sys.excepthook(ValueError, ValueError("second"), None)
        qtbot.wait(20)
        assert hooks.dialog is first
        assert "division by zero" in first.whole
        first.close()
        qtbot.waitUntil(lambda: hooks.dialog is None)
    finally:
        hooks.remove()
    assert (sys.excepthook, threading.excepthook) == hooks_before
    assert "second" in capsys.readouterr().err
