"""Cyclic garbage is collected in the window's thread alone, and by Python again without a window.

In another thread Qt's objects would be found there and the window crashes later.
"""

from __future__ import annotations

import gc
import threading

from pytestqt.qtbot import QtBot

from app.gui.window import MainWindow


class _Cycle:
    """Garbage that only a collection finds; it records the thread of its end."""

    def __init__(self, ends: list[int]) -> None:
        self.cycle, self._ends = self, ends

    def __del__(self) -> None:
        self._ends.append(threading.get_ident())


def _leave_garbage(ends: list[int]) -> None:
    """As many objects as several collections wait for, in a thread of their own."""
    limit = gc.get_threshold()[0]
    thread = threading.Thread(target=lambda: [_Cycle(ends) for _ in range(3 * limit)])
    thread.start()
    thread.join()


def test_a_thread_beside_the_window_collects_no_garbage(window: MainWindow, qtbot: QtBot) -> None:
    ends = list[int]()
    _leave_garbage(ends)
    assert not ends

    def is_collected() -> bool:
        _leave_garbage(ends)  # again: objects that end meanwhile count against those that began
        return bool(ends)

    qtbot.waitUntil(is_collected)
    assert set(ends) == {threading.main_thread().ident}


def test_python_collects_again_once_the_window_is_closed(window: MainWindow) -> None:
    assert not gc.isenabled()
    window.close()
    window.close()
    assert gc.isenabled()
