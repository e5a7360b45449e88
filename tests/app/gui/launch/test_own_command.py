"""A command of ours as a child of the window: how it can end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.gui.launch.own_command import OwnCommand

TIMEOUT_MS = 60_000
LEFT_OUT = 1


@pytest.fixture
def command(qtbot: QtBot) -> Iterator[OwnCommand]:
    owner = QObject()
    own_command = OwnCommand("a report is being written", owner)
    yield own_command
    own_command.close()


def test_a_process_that_does_not_start_is_an_error_and_blocks_no_other(
    qtbot: QtBot, command: OwnCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "python"))
        with qtbot.waitSignal(command.failed, timeout=TIMEOUT_MS):
            command.start(["--version"])
    with qtbot.waitSignal(command.ended, timeout=TIMEOUT_MS) as end:
        command.start(["--version"])
    assert end.args[0] == 0


def test_a_signal_whose_number_is_a_good_exit_code_is_an_error(
    qtbot: QtBot, command: OwnCommand
) -> None:
    assert int(signal.SIGHUP) == LEFT_OUT
    children = psutil.Process().children()
    with qtbot.waitSignal(command.failed, timeout=TIMEOUT_MS):
        command.start(["--version"], (0, LEFT_OUT))
        (child,) = set(psutil.Process().children()) - set(children)
        child.send_signal(signal.SIGHUP)
