"""`graphlap open`: the window, with a run, a plan or models in it."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from app.cases.errors import PlanError
from app.commands.output import print_text
from app.commands.settings import add_settings, completed
from app.machine.window_libraries import missing_packages
from app.plan.settings.table import accepted_by

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
_PACKAGES = ("PySide6", "pyqtgraph")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the window is to show."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a run folder, a plan, or .onnx files"
    )
    parser.add_argument(
        "--install-desktop",
        action="store_true",
        help="add the window to the desktop's applications",
    )
    add_settings(parser, "open", brief=True)


def run(options: argparse.Namespace) -> int:
    """Open it and return its exit code; PlanError where there can be none."""
    if options.install_desktop:
        flags = [row.flag for row in accepted_by("open") if getattr(options, row.dest)]
        if options.paths or flags:
            word = (*options.paths, *flags)[0]
            raise PlanError(f"{word}: --install-desktop opens nothing", f"Leave {word} out")
        from app.gui.desktop_entry import install_desktop

        return print_text("".join(f"wrote {path}\n" for path in install_desktop()))
    missing = _missing()
    if missing:
        raise PlanError(
            f"the window needs {' and '.join(missing)}, not installed here",
            "pip install 'graphlap[gui]', or measure without a window: graphlap run",
        )
    if not _has_display():
        raise PlanError(
            "there is no display to open a window on",
            "measure without a window: graphlap run; print a run: graphlap show",
        )
    if lacking := missing_packages():
        raise PlanError(
            f"the window needs {', '.join(lacking)}, not installed here",
            f"On Debian and Ubuntu: apt install {' '.join(lacking.values())}; or measure without a "
            "window: graphlap run",
        )
    plan = None
    if options.suite or options.plan or options.models:
        from app.plan.options import plan_from_options

        plan = plan_from_options(completed(options))
    from app.gui.main import main as open_window

    return open_window([Path(path) for path in options.paths], plan)


def can_open() -> bool:
    """Whether a window can probably be opened here."""
    return _has_display() and not _missing()


def _missing() -> list[str]:
    return [name for name in _PACKAGES if find_spec(name) is None]


def _has_display() -> bool:
    return sys.platform != "linux" or any(map(os.environ.get, _DISPLAYS))
