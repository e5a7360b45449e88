"""Real widgets on the offscreen platform, and series as a run folder would give them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from app.gui.editor.editor import SweepEditor
from app.gui.launch import BatchChild
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
from tests.app.gui.runs import wait_for_end


@pytest.fixture
def window(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    """A window of its own; the batch processes that it leaves behind are ended."""
    # An earlier one and its sheet, with which each widget takes thrice as long.
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qapp.setStyleSheet("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    preferences = Preferences(tmp_path / "window.ini")
    preferences.runs_folder = tmp_path / "runs"
    main_window = MainWindow(preferences)
    qtbot.addWidget(main_window)
    main_window.show()
    children: list[BatchChild | None] = []
    main_window.control.started.connect(lambda _folder: children.append(main_window.control.child))
    yield main_window
    main_window.close()
    for child in filter(None, children):
        if child.exit_code() is None:
            os.killpg(child.pid, signal.SIGTERM)
            assert wait_for_end(child) is not None


@pytest.fixture
def editor(qtbot: QtBot) -> Iterator[SweepEditor]:
    sweep_editor = SweepEditor()
    qtbot.addWidget(sweep_editor)
    sweep_editor.resize(380, 900)
    sweep_editor.show()
    yield sweep_editor
    sweep_editor.close_background()


@pytest.fixture
def larger() -> Iterator[None]:
    """Fonts at 175 %, for windows that are made from now on."""
    old_font = QApplication.font()
    font = QApplication.font()
    font.setPointSizeF(1.75 * font.pointSizeF())
    QApplication.setFont(font)
    yield
    QApplication.setFont(old_font)
