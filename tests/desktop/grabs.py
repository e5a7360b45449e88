"""Pictures of the window with stored runs of `tests.golden`, on the offscreen platform."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QThreadPool
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QLineEdit

from app.gui.look.preferences import Preferences
from app.gui.palette import Palette
from app.gui.window import MainWindow
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live, LiveFile
from app.runs.reader import read_run
from tests.golden.folders import unpack

SIZE = 1280, 800
ENVIRONMENT = {
    "QT_QPA_PLATFORM": "offscreen",
    "QT_SCALE_FACTOR": "1",
    "QT_FONT_DPI": "96",
    "QT_ENABLE_HIGHDPI_SCALING": "1",
}
"""What Qt is told of the screen and its font."""
_MOST_S = 20.0
"""What is not there after so long is a picture of that."""
_REST_S = 0.1
"""For what follows once it is there; a picture waits for two looks that are the same anyhow."""


@dataclass(frozen=True, slots=True)
class Made:
    """A run folder, and another one beside it."""

    folder: Path
    beside: Path | None = None


def stored_run(name: str, path: Path) -> Made:
    """A stored run with its end recorded; one called `after` has another before it."""
    run = unpack(name, path)
    runs = [run.with_name("before"), run] if run.name == "after" else [run]
    for one in runs:
        with RunFolder.reopen(one) as folder:
            cases = len(read_run(one).cases)
            rounds = cases * folder.manifest.rounds
            live = Live("finished", 0, cases, 0, rounds, rounds, exit_code=0)
            LiveFile(folder).write(live, always=True)
    return Made(runs[0], beside=runs[1] if runs[1:] else None)


class Grabber:
    """The window in one theme, whose preferences lie in `folder`."""

    def __init__(self, folder: Path, theme: str) -> None:
        self._app = QApplication(sys.argv[:1])
        preferences = Preferences(folder / f"{theme}.ini")
        preferences.theme = theme
        self._window = MainWindow(preferences)
        self._window.resize(*SIZE)
        self._window.show()
        self._wait(_REST_S)

    def show(self, key: str, most_s: float = _MOST_S) -> None:
        """Bring this view to the front and wait until it is drawn."""
        view = self._window.views.by_key[key]
        self._window.frame.show_key(key)
        self._wait(_REST_S, lambda: bool(view.plots), most_s)

    def save(self, path: Path, query: str = "") -> None:
        """The window as a PNG; with a query, the palette over it in which this was typed."""
        self._window.progress.clearMessage()
        picture = self._settled()
        if query:
            self._window.finder.find_anything()
            palette = self._window.findChildren(Palette)[-1]
            palette.findChildren(QLineEdit)[0].setText(query)
            self._wait(0.3)
            with QPainter(picture) as painter:
                left = (self._window.width() - palette.width()) // 2
                painter.drawPixmap(left, palette.y(), palette.grab())
                painter.drawRect(left, palette.y(), palette.width() - 1, palette.height() - 1)
            palette.close()
        assert picture.save(str(path))

    def _settled(self) -> QPixmap:
        """The window once two looks at it are the same: all that was drawn is laid out by then."""
        latest = time.monotonic() + _MOST_S
        before, now = None, self._window.grab()
        while before != now.toImage() and time.monotonic() < latest:
            before = now.toImage()
            self._wait(0.2)
            now = self._window.grab()
        return now

    def open(self, example_run: Made) -> None:
        """The run with all its rows selected, another beside it where there is one."""
        window, folder = self._window, example_run.folder
        window.open_run(folder)
        self._wait(0.0, lambda: window.feed.folder == folder and window.feed.state is not None)
        if example_run.beside is not None:
            window.feed.compare(example_run.beside)
        window.table.view.selectAll()

        def summarised() -> bool:
            state = window.feed.state
            shown = [c for c in state.series if c.key in state.visible_keys] if state else []
            return all(case.summary is not None for case in shown if case.status == "ok")

        self._wait(_REST_S, summarised)

    def _wait(
        self, seconds: float, is_ready: Callable[[], bool] = lambda: True, most_s: float = _MOST_S
    ) -> None:
        """Until it is there, and so long after that."""
        latest = time.monotonic() + most_s
        while not is_ready() and time.monotonic() < latest:
            self._turn()
        rest_end_s = time.monotonic() + seconds
        while time.monotonic() < rest_end_s:
            self._turn()

    def _turn(self) -> None:
        QThreadPool.globalInstance().waitForDone(20)
        self._app.processEvents()
        time.sleep(0.005)
