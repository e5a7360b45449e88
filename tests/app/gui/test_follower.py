"""The thread that follows a run, and the collection of garbage outside of it."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import psutil
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.follow import Follower
from app.gui.window import MainWindow
from tests.app.gui.runs import new_run, record_round, records

CASE = Case("cnn_tiny", "fake")


def test_a_follower_tells_what_is_added_and_leaves_nothing_behind(
    qtbot: QtBot, tmp_path: Path
) -> None:
    threads, children = threading.active_count(), psutil.Process().children(recursive=True)
    with new_run(tmp_path / "run", [CASE], rounds=2) as folder:
        record_round(folder, CASE, 0, records([50.0] * 400))
        follower = Follower(tmp_path / "run")
        counts: list[int] = []

        def has_counted(samples: int) -> bool:
            if (state := follower.take()) is not None:
                counts.append(int(state.series[0].counts.sum()))
            return samples in counts

        follower.start()
        qtbot.waitUntil(lambda: has_counted(400), timeout=10_000)
        record_round(folder, CASE, 1, records([50.0] * 5))
        qtbot.waitUntil(lambda: has_counted(405), timeout=10_000)
        follower.close()
    assert follower.isFinished()
    assert threading.active_count() == threads
    assert psutil.Process().children(recursive=True) == children


def test_a_folder_that_is_no_run_is_told(qtbot: QtBot, tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    with qtbot.waitSignal(follower.failed) as blocker:
        follower.start()
    follower.close()
    assert "is no run folder" in str(blocker.args[0])


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
