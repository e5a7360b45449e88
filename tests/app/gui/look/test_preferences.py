"""What the window remembers, its typeface, and its dialogs of errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.errors import ErrorHooks, show_error
from app.gui.look.preferences import Preferences
from app.gui.look.style_sheet import FAMILY, SIZES, apply_theme, points, prepare_application
from exporters.types import GraphlapError
from tests.checkout import ROOT as CHECKOUT


def test_layouts_come_back_and_recent_runs_are_newest_first(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "window.ini")
    preferences.save_layout("measure", QByteArray(b"docks"))
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        preferences.add_recent(tmp_path / name)
    preferences.sync()
    again = Preferences(tmp_path / "window.ini")
    assert again.layout("measure") == QByteArray(b"docks")
    assert [path.name for path in again.recent_runs()] == ["a", "b"]


def test_a_layout_of_another_version_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "window.ini")
    preferences.save_layout("measure", QByteArray(b"docks"))
    preferences.theme = "dark"
    preferences.sync()
    store = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    store.setValue("layout/version", 0)
    store.sync()
    again = Preferences(tmp_path / "window.ini")
    assert again.layout("measure").isEmpty()
    assert again.theme == "dark"


def test_damaged_values_count_as_not_there(tmp_path: Path) -> None:
    (tmp_path / "window.ini").write_text(
        "[General]\ntheme=@Variant(\\0)\nrecent_runs=@Invalid()\n[layout]\nversion=1\nmeasure=7\n"
    )
    preferences = Preferences(tmp_path / "window.ini")
    assert preferences.theme == "light"
    assert preferences.recent_runs() == ()
    assert preferences.layout("measure").isEmpty()


_START = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
app = QApplication([])
window = MainWindow(Preferences(Path(sys.argv[1])))
parts = (window, window.header, window.menuBar(), window.table, window.series_list, window.editor)
print(*{part.font().family() for part in parts}, sep=";")
window.close()
"""


def test_a_window_is_made_in_the_bundled_typeface(tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-c", _START, str(tmp_path / "window.ini")],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_CACHE_HOME": str(tmp_path)},
        cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert started.stdout.strip() == FAMILY


def test_sizes_follow_a_larger_desktop_font(qapp: QApplication) -> None:
    prepare_application()
    apply_theme("light")
    old_font = QApplication.font()
    larger = QFont(old_font)
    larger.setPointSizeF(1.75 * old_font.pointSizeF())
    body = points("body")
    QApplication.setFont(larger)
    try:
        assert abs(points("body") / body - 1.75) < 1e-6
        assert [points(size) for size in SIZES] == sorted(points(size) for size in SIZES)
    finally:
        QApplication.setFont(old_font)


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    return widget


def test_an_error_of_ours_is_a_sentence_that_can_be_copied(window: QWidget) -> None:
    dialog = show_error(GraphlapError("the run is gone", "open another"), window)
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == "the run is gone\nopen another"
    dialog.close()


def test_a_fault_of_the_program_brings_its_traceback(window: QWidget) -> None:
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError as error:
        dialog = show_error(error, window)
    assert "test_preferences.py" in dialog.whole
    assert "ZeroDivisionError: oops" in dialog.whole
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
