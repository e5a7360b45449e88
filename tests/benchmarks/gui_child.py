"""The window's side of `gui.py`: one mode a process, figures as a JSON line."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.cases.round import RECORD
from app.gui.launch import leave_last_core
from app.gui.main import shown_window
from app.run_folder.manifest import MANIFEST
from tests.benchmarks import gui_acts

if TYPE_CHECKING:
    from app.gui.window import MainWindow


def main() -> None:
    mode, *rest = sys.argv[1:]
    leave_last_core()
    app = QApplication(sys.argv[:1])
    window = shown_window()
    app.processEvents()
    visible_s = (time.time_ns() - int(os.environ["GRAPHLAP_LAUNCHED_NS"])) / 1e9
    answer: dict[str, float] = {"visible_s": visible_s, "busy_s": time.process_time()}
    match mode:
        case "open":
            answer |= _open(window, Path(rest[0]), int(rest[1]))
        case "cold":
            answer |= _cold(window, Path(rest[0]))
        case "scroll":
            answer |= _open(window, Path(rest[0])) | _scroll(window)
        case "switch":
            answer |= _open(window, Path(rest[0])) | _switch(app, window)
        case "acts":
            window.hide()  # it would get the pointer's events
            answer |= gui_acts.table(app) | gui_acts.read(app) | gui_acts.redraw(app)
        case "watch":
            _watch(window)
        case "frames" | "memory":
            window.open_run(Path(rest[0]))
            _wait_until(lambda: window.feed.state is not None)
            print("ready", flush=True)
            answer |= _frames(window) if mode == "frames" else _memory(window)
    window.close()
    print(json.dumps(answer), flush=True)
    os._exit(0)  # views without a window are left, which Qt takes apart in no order


def _watch(window: MainWindow) -> None:
    """Follow the runs whose folders are written to the standard input, until it ends."""
    print("ready", flush=True)
    ready = _end_condition()
    while True:
        _wait_until(ready)
        line = sys.stdin.readline()
        if not line:
            return
        path = Path(line.strip())
        ready = _end_condition()
        _wait_until(lambda p=path, r=ready: (p / MANIFEST).is_file() or r())
        window.open_run(path)


def _wait_until(condition: Any, seconds: float = 600.0) -> float:
    """Run the event loop until the condition holds; the longest time between two turns."""
    until, longest = time.monotonic() + seconds, 0.0
    while not condition():
        assert time.monotonic() < until
        turn = time.monotonic()
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        longest = max(longest, time.monotonic() - turn)
        time.sleep(0.001)
    return longest


def _open(window: MainWindow, folder: Path, samples: int = 1) -> dict[str, float]:
    """Until a state with so many samples is drawn."""
    start_s = time.monotonic()
    window.open_run(folder)

    def is_complete() -> bool:
        state = window.feed.state
        return state is not None and sum(one.counts.sum() for one in state.series) >= samples

    longest = _wait_until(is_complete)
    window.views.by_key["histogram"].draw_now()
    return {"opened_s": time.monotonic() - start_s, "longest_s": longest}


def _switch(app: QApplication, window: MainWindow) -> dict[str, float]:
    """Milliseconds of the processor until a view that was drawn before is in front again, and
    until the other theme is on, with every view drawn."""
    window.table.view.selectAll()
    for key in window.views.by_key:
        window.frame.show_key(key)
        end_s = time.monotonic() + 0.5
        _wait_until(lambda end_s=end_s: time.monotonic() > end_s)
    pages = [_busy_ms(app, partial(window.frame.show_key, key)) for key in window.views.by_key]
    themes = [_busy_ms(app, window.toggle_theme) for _ in range(6)]
    return {
        "page_ms": statistics.median(pages),
        "worst_page_ms": max(pages),
        "theme_ms": statistics.median(themes),
    }


def _busy_ms(app: QApplication, act: Callable[[], object]) -> float:
    start_s = time.process_time()
    act()
    app.processEvents()
    return (time.process_time() - start_s) * 1e3


def _cold(window: MainWindow, folder: Path) -> dict[str, float]:
    """Until all rows are in the table and the histogram is drawn; then through every view."""
    launched_s, process = int(os.environ["GRAPHLAP_LAUNCHED_NS"]) / 1e9, psutil.Process()
    visible_s = time.process_time()
    window.open_run(folder)
    histogram = window.views.by_key["histogram"]
    _wait_until(lambda: bool(window.table.model.series))
    window.frame.show_key("histogram")  # a run of many cases opens with another view
    _wait_until(lambda: bool(histogram.plots))
    histogram.grab()
    figures = {
        "there_s": time.time() - launched_s,
        "busy_s": time.process_time(),
        "opening_s": time.process_time() - visible_s,
        "rss_mb": process.memory_info().rss / 1e6,
        "cases": float(len(window.table.model.series)),
        "records": sum(path.stat().st_size for path in folder.glob("samples/*")) / RECORD.itemsize,
    }
    window.table.view.selectAll()
    for key in window.views.by_key:
        window.frame.show_key(key)
        for _ in range(20):
            _wait_until(lambda: True)
            time.sleep(0.02)
        window.views.by_key[key].grab()
    return {**figures, "views_mb": process.memory_info().rss / 1e6}


def _scroll(window: MainWindow) -> dict[str, float]:
    window.frame.show_key("matrix")
    _wait_until(lambda: window.table.view.verticalScrollBar().maximum() > 0)
    bar = window.table.view.verticalScrollBar()
    start_s, frames = time.monotonic(), 150
    for frame in range(frames):
        bar.setValue(bar.maximum() * frame // frames)
        window.table.view.viewport().repaint()
    return {"frames_per_s": frames / (time.monotonic() - start_s)}


def _end_condition() -> Any:
    """Tells whether the other side has written its line."""
    from PySide6.QtCore import QSocketNotifier

    notifier = QSocketNotifier(0, QSocketNotifier.Type.Read)
    notifier.activated.connect(lambda: notifier.setEnabled(False))
    return lambda: not notifier.isEnabled()


def _frames(window: MainWindow) -> dict[str, float]:
    view = window.views.by_key["histogram"]
    draw, frames = view.draw_now, 0

    def drawn_and_seen() -> None:
        nonlocal frames
        draw()
        view.canvas.viewport().repaint()
        frames += 1

    start_s = time.monotonic()
    with patch.object(view, "draw_now", drawn_and_seen):
        _wait_until(_end_condition())
    return {"frames_per_s": frames / (time.monotonic() - start_s)}


def _memory(window: MainWindow) -> dict[str, float]:
    """From the first million samples to the last, all views looked at in turn."""
    keys = ("histogram", "timeline", "percentiles")
    turn = QTimer(window, interval=1500)
    turn.timeout.connect(lambda: window.frame.show_key(keys[int(time.monotonic()) % len(keys)]))
    turn.start()
    process, has_ended = psutil.Process(), _end_condition()

    def samples() -> int:
        state = window.feed.state
        assert state is not None
        return int(state.series[0].counts.sum())

    _wait_until(lambda: samples() >= 1_000_000 or has_ended())
    rss_before = process.memory_info().rss
    most = rss_before
    while not has_ended():
        _wait_until(lambda: True)
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50)
        most = max(most, process.memory_info().rss)
    return {"gained_mb": (most - rss_before) / 1e6}


if __name__ == "__main__":
    main()
