"""Shared libraries of the system that Qt needs for a window, and the packages that have them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from ctypes import CDLL

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
    spared = {**({} if is_x11 else _X11), **({} if is_wayland else _WAYLAND)}
    needed = {library: of for library, of in PACKAGES.items() if library not in spared}
    return {library: package for library, package in needed.items() if not _is_here(library)}


def _is_here(library: str) -> bool:
    try:
        CDLL(library)
    except OSError:
        return False
    return True
