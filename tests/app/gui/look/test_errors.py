import sys
import threading

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.errors import ErrorHooks, show_error
from exporters.types import GraphlapError


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
    assert "test_errors.py" in dialog.whole
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
