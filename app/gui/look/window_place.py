"""Where a window stands at its start: as it was left, or as the screen has room for it."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtWidgets import QWidget

_USUAL = QSize(1280, 800)
_FRAME = QSize(16, 48)
"""What a desktop's frame and title bar may take beside and above the window."""


def place_window(window: QWidget, kept: QByteArray, least: QSize) -> None:
    """The usual size where nothing was kept, or all of a screen that is too small for it.

    A screen that is too small for the `least` size shows a part of it, whatever is done.
    """
    if not kept.isEmpty() and window.restoreGeometry(kept):
        return
    room, needed = window.screen().availableGeometry().size(), _USUAL + _FRAME
    too_small = needed.boundedTo(room) != needed
    if too_small and least.boundedTo(room) == least:
        window.resize(_USUAL.boundedTo(room - _FRAME))
        window.setWindowState(window.windowState() | Qt.WindowState.WindowMaximized)
    else:
        window.resize(_USUAL)
