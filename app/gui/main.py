"""Start-up of the window: the application, its hooks, its window, and what it opens with."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from app.cases.errors import PlanError
from app.gui.launch import leave_last_core
from app.gui.look.errors import ErrorHooks
from app.gui.look.preferences import Preferences
from app.gui.look.theme import app_icon
from app.plan.plan import Plan
from app.run_folder.manifest import MANIFEST
from exporters.types import FILE_ENDINGS

if TYPE_CHECKING:
    from app.gui.window import MainWindow

NO_DISPLAY = (
    "graphlap: no window can be opened on this display: measure without one with graphlap run, "
    "or see that DISPLAY names a display that runs"
)


def main(paths: Sequence[Path] = (), plan: Plan | None = None) -> int:
    """Open the window and return its exit code.

    A run folder among the paths is opened, a second beside it; a plan file, models or the `plan`
    fill the editor. GraphlapError for a path that is none of these.
    """
    paths = _check_paths(paths, plan is not None)
    qInstallMessageHandler(_hear_qt)
    leave_last_core()
    app = QApplication([sys.argv[0]])
    app.setApplicationName("graphlap")
    app.setApplicationDisplayName("Graphlap")
    app.setDesktopFileName("graphlap")
    app.setWindowIcon(app_icon())
    window = shown_window()
    hooks = ErrorHooks(window)
    QTimer.singleShot(0, window.editor.learn_runtimes)
    if plan is not None:
        window.editor.set_draft(plan, f"open {plan.name}")
    if paths:
        window.files.open_paths(paths)
    # Not before the loop runs: a window that is closed earlier leaves a loop that nothing ends.
    QTimer.singleShot(0, partial(signal.signal, signal.SIGINT, lambda *_: window.close()))
    try:
        return app.exec()
    finally:
        hooks.remove()
        qInstallMessageHandler(None)


def shown_window() -> MainWindow:
    """The window. What is loaded and built here stays for as long as it does and is no garbage:
    each look through all of it would take a tenth of a second."""
    gc.disable()
    from app.gui.window import MainWindow

    window = MainWindow(Preferences())
    window.show()
    gc.freeze()
    return window


def _check_paths(paths: Sequence[Path], named: bool) -> Sequence[Path]:
    """One run folder or two, one plan, or models; PlanError says what can't be opened."""
    if len(paths) > 2 and all((path / MANIFEST).is_file() for path in paths):
        raise PlanError(
            f"the window shows two runs beside each other (got {len(paths)})",
            "Name two, or read all as one with graphlap show or report",
        )
    are_runs = len(paths) == 2 and all((path / MANIFEST).is_file() for path in paths)
    for path in paths:
        if not path.exists():
            raise PlanError(f"there is no {path}", "name a run folder, a plan or an .onnx file")
        is_alone = len(paths) == 1 and _alone(path)
        if path.suffix.lower() not in FILE_ENDINGS and not (is_alone or are_runs):
            raise PlanError(
                f"{path} can't be opened beside others" if _alone(path) else f"{path} is no model",
                "name one or two run folders, one .toml plan, or .onnx files",
            )
    if paths and named and not paths[0].is_dir():
        raise PlanError(f"{paths[0]} and the flags name two plans", "give one of them")
    return paths


def _alone(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".toml"


def _hear_qt(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    """Qt's own words to standard error; where it would abort, one sentence instead."""
    if kind == QtMsgType.QtFatalMsg:
        sys.stderr.write(f"{NO_DISPLAY} ({message.splitlines()[0]})\n")
        sys.stderr.flush()
        os._exit(2)
    if kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtWarningMsg):
        sys.stderr.write(f"{message}\n")
