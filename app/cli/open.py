"""`graphlap open`: the window, with a run, a plan or models, and the system libraries it needs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from ctypes import CDLL
from importlib.util import find_spec
from pathlib import Path

from app.cases.errors import PlanError
from app.plan.command_line import add_settings, with_all_settings

_QT = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}
_X11 = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
_WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}
PACKAGES: Mapping[str, str] = _QT | _X11 | _WAYLAND
"""Library -> its package on Debian and Ubuntu."""


def missing_packages() -> dict[str, str]:
    """Library -> package of those that a window on the display of this process lacks."""
    if sys.platform != "linux":
        return {}
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    is_x11 = platform.startswith("xcb") or (not platform and "DISPLAY" in os.environ)
    is_wayland = platform.startswith("wayland") or (
        not platform and not is_x11 and "WAYLAND_DISPLAY" in os.environ
    )
    optional_libraries = {**({} if is_x11 else _X11), **({} if is_wayland else _WAYLAND)}
    return {
        library: package
        for library, package in PACKAGES.items()
        if library not in optional_libraries and not _can_load(library)
    }


def _can_load(library: str) -> bool:
    try:
        CDLL(library)
    except OSError:
        return False
    return True


_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
_PACKAGES = ("PySide6", "pyqtgraph")


def add_open(parser: argparse.ArgumentParser) -> None:
    """What the window is to show."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a run folder or two, a plan, or .onnx files",
    )
    add_settings(parser, "open", brief=True)


def run_open(options: argparse.Namespace) -> int:
    """Open it and return its exit code; PlanError where there can be none."""
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

        plan = plan_from_options(with_all_settings(options))
    from app.gui.main import main as open_window

    return open_window([Path(path) for path in options.paths], plan)


def can_open() -> bool:
    """Whether a window can probably be opened here."""
    return _has_display() and not _missing()


def _missing() -> list[str]:
    return [name for name in _PACKAGES if find_spec(name) is None]


def _has_display() -> bool:
    return sys.platform != "linux" or any(map(os.environ.get, _DISPLAYS))
