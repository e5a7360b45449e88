"""A window that is used at random: keys, clicks, drags, sizes, themes and runs, without a fault.

Its own process, on Qt's offscreen platform, is sent `SOAK_EVENTS` (20,000) real events while a
finished run, one with a damaged journal and one that is being measured are opened in turn. No
traceback, no message of Qt and no event that takes more than a second of CPU time may come of it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QMenu,
    QMessageBox,
    QSplitterHandle,
    QWidget,
)

from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
from tests.checkout import ROOT
from tests.golden.folders import unpack

EVENTS = 20_000
MOST_CPU_S = 1.0
_LIVE = ("run", "mlp", "--runtimes", "fake", "--rounds", "40")
_LEFT, _NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
_SHIFT, _CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
_MODIFIERS = [*[_NONE] * 6, _CTRL, _SHIFT]
_OFTEN = [
    "Tab",
    "Backtab",
    "Return",
    "Space",
    "Escape",
    "Up",
    "Down",
    "Left",
    "Right",
    "Home",
    "End",
]
_LESS_OFTEN, _SELDOM = ("F6", "F8", "F9", "F11"), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEYS = [Qt.Key[f"Key_{name}"] for name in (*_OFTEN * 3, *_LESS_OFTEN * 2, *_SELDOM)]


def main(seed: int, minutes: float) -> None:
    """Run the process; AssertionError with what it wrote where it failed."""
    events = int(os.environ.get("SOAK_EVENTS") or EVENTS)
    program = [sys.executable, "-X", "faulthandler", "-m", "tests.soak.window"]
    command = [*program, str(seed), str(events), str(60 * minutes)]
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    process = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    sys.stdout.write(process.stdout)
    assert process.returncode == 0, (
        f"exit code {process.returncode}: {process.stderr or process.stdout}"
    )
    assert not process.stderr, process.stderr


def use_at_random(seed: int, events: int, limit_s: float) -> dict[str, float]:
    """Send the events, or as many as there is time for; what came of it."""

    application = QApplication([])
    faults: list[str] = []

    def hear(kind: QtMsgType, _context: object, text: str) -> None:
        if kind != QtMsgType.QtDebugMsg and "This plugin does not support" not in text:
            faults.append(text)

    def caught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        sys.__excepthook__(kind, error, trace)
        faults.append(repr(error))

    qInstallMessageHandler(hear)
    sys.excepthook = caught
    with tempfile.TemporaryDirectory() as scratch:
        runs = _runs(Path(scratch))
        command = [sys.executable, "-m", "app", *_LIVE, "--out", str(runs["live"])]
        quiet = subprocess.DEVNULL
        live = subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet)
        try:
            user = _User(random.Random(seed), Path(scratch), runs)
            start_s, longest, sent_count = time.monotonic(), (0.0, ""), 0
            while sent_count < events and time.monotonic() < start_s + limit_s:
                cpu_before = time.process_time()
                action = user.act()
                application.processEvents()
                longest = max(longest, (time.process_time() - cpu_before, action))
                sent_count += 1
            user.close()
        finally:
            live.terminate()
            live.wait()
    assert not faults, faults[:5]
    assert longest[0] <= MOST_CPU_S, (
        f"{longest[1]} took {longest[0]:.2f} s of CPU time, of {sent_count} events"
    )
    return {"events": sent_count, "longest_cpu_s": round(longest[0], 3)}


def _runs(scratch: Path) -> dict[str, Path]:
    """A finished run and a damaged one; `live` is there once its process has made it."""
    runs = {name: unpack("plain", scratch / name) for name in ("finished", "damaged")}
    journal = next((runs["damaged"] / "journal").glob("*.jsonl"))
    journal.write_bytes(journal.read_bytes()[: journal.stat().st_size * 2 // 3])
    return {**runs, "live": scratch / "live"}


class _User:
    """Does one thing after another with a window of its own; nothing that leaves it."""

    def __init__(self, draw: random.Random, scratch: Path, runs: dict[str, Path]) -> None:
        for ask in ("getOpenFileName", "getOpenFileNames", "getSaveFileName"):
            setattr(QFileDialog, ask, lambda *_, **__: ("", ""))
        QFileDialog.getExistingDirectory = lambda *_, **__: ""  # type: ignore[method-assign]
        answer = QMessageBox.StandardButton.No
        QMessageBox.question = lambda *_, **__: answer  # type: ignore[method-assign]
        preferences = Preferences(scratch / "window.ini")
        preferences.runs_folder = scratch / "runs"
        self._draw, self._runs = draw, runs
        self._window = MainWindow(preferences)
        self._window.control.run = lambda plan: None  # type: ignore[method-assign]
        self._window.control.resume_folder = lambda folder: None  # type: ignore[method-assign]
        # A menu or a dialog that waits for an answer is closed from within its own loop.
        self._impatience = QTimer(self._window, interval=200)
        self._impatience.timeout.connect(self._clear_away)
        self._impatience.start()
        self._window.show()
        self._window.open_run(runs["finished"])
        self._acts: dict[Callable[[], None], int] = {
            self._key: 50,
            self._click: 30,
            self._drag: 12,
            self._resize: 4,
            self._window.toggle_theme: 1,
            self._open: 1,
            self._clear_away: 2,
        }

    def act(self) -> str:
        (act,) = self._draw.choices(list(self._acts), list(self._acts.values()))
        act()
        return act.__name__.strip("_")

    def close(self) -> None:
        self._clear_away()
        self._window.close()

    def _key(self) -> None:
        chosen_key, modifier = self._draw.choice(_KEYS), self._draw.choice(_MODIFIERS)
        if chosen_key == Qt.Key.Key_Q and modifier == Qt.KeyboardModifier.ControlModifier:
            return
        target = QApplication.activePopupWidget() or QApplication.focusWidget() or self._window
        QTest.keyClick(target, chosen_key, modifier)

    def _click(self) -> None:
        window = QApplication.activePopupWidget() or QApplication.activeModalWidget()
        area = window or self._window
        place = self._point(area)
        target = area.childAt(place) or area
        if isinstance(target, QMenu):
            action = target.actionAt(target.mapFrom(area, place))
            if action is not None and action.objectName() == "quit":
                return
        button = self._draw.choice([_LEFT] * 5 + [Qt.MouseButton.RightButton])
        QTest.mouseClick(target, button, pos=target.mapFrom(area, place))

    def _drag(self) -> None:
        """Over plots and the borders of panes; rows would begin a drag of the desktop."""
        if QApplication.activePopupWidget() or QApplication.activeModalWidget():
            return
        views = self._window.views.by_key.values()
        targets: list[QWidget] = [view.canvas.viewport() for view in views if view.isVisible()]
        handles = self._window.findChildren(QSplitterHandle)
        targets += [handle for handle in handles if handle.isVisible()]
        if targets:
            target, modifier = self._draw.choice(targets), self._draw.choice([_NONE, _SHIFT])
            QTest.mousePress(target, _LEFT, modifier, self._point(target))
            for _ in range(3):
                QTest.mouseMove(target, self._point(target))
            QTest.mouseRelease(target, _LEFT, modifier, self._point(target))

    def _resize(self) -> None:
        self._window.resize(self._draw.randint(900, 1920), self._draw.randint(560, 1080))

    def _open(self) -> None:
        folders = [run for run in self._runs.values() if (run / "manifest.json").is_file()]
        self._window.open_run(self._draw.choice(folders))

    def _clear_away(self) -> None:
        """Close menus and dialogs, as somebody does who wants to go on."""

        if (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        for dialog in self._window.findChildren(QDialog):
            dialog.close()

    def _point(self, widget: QWidget) -> QPoint:
        x, y = (self._draw.randrange(max(1, length)) for length in widget.size().toTuple())
        return QPoint(x, y)


if __name__ == "__main__":
    seed_text, events_text, limit_text = sys.argv[1:]
    found = use_at_random(int(seed_text), int(events_text), float(limit_text))
    sys.stdout.write(f"window: {json.dumps(found)}\n")
    sys.stdout.flush()
    os._exit(0)  # widgets without an owner are left, which Qt takes apart in no order
