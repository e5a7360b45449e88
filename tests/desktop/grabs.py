"""`python -m tests.desktop.grabs DIR [LOOK…]`: a picture of every view, to be looked at.

Of the stored runs of `tests.golden`, in both themes and every look (a screen and its font), by
whole windows on the offscreen platform: some minutes for all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QThreadPool
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QLineEdit

from app.gui.look.preferences import Preferences
from app.gui.palette import Palette
from app.gui.window import MainWindow
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live, LiveFile
from app.runs.reader import read_run
from tests.checkout import ROOT
from tests.golden.folders import unpack

_USUAL_DPI = 96


@dataclass(frozen=True, slots=True)
class Look:
    """A screen in the window's own pixels, `scale` of its own to each, and the font's size."""

    name: str
    width: int
    height: int
    scale: int = 1
    font: float = 1.0

    @property
    def env(self) -> Mapping[str, str]:
        """What Qt is told of it."""
        return {
            "QT_SCALE_FACTOR": str(self.scale),
            # The font alone: Qt would take the same for a scale of everything.
            "QT_FONT_DPI": str(round(_USUAL_DPI * self.font)),
            "QT_ENABLE_HIGHDPI_SCALING": str(int(self.font == 1.0)),
        }


USUAL = Look("1280x800", 1280, 800)
LOOKS = (
    Look("900x560-large-font", 900, 560, font=1.75),
    USUAL,
    Look("1920x1080", 1920, 1080),
    Look("4k", 1920, 1080, scale=2),
)
THEMES = ("light", "dark")
STORED = {
    "plain": "summary ranking histogram percentiles boxes timeline trends matrix operators",
    "large": "summary ranking histogram percentiles boxes timeline matrix",
    "failures": "summary ranking compare history",
    "sizes": "trends",
    "slo": "trends",
    "compared": "compare",
    "history": "history",
    "operators": "operators",
    "card": "schedule",
    "check": "checks",
    "accuracy": "accuracy",
    "largest": "largest_batch",
    "tune": "tune",
}
"""The stored runs and the views that are drawn of each."""
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


def main() -> int:
    """Save all pictures below the folder that is named; returns 0."""
    out, *names = sys.argv[1:]
    folder = Path(out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for look in LOOKS:
        for theme in THEMES if not names or look.name in names else ():
            command = [sys.executable, "-m", "tests.desktop.grabs", "--one", str(folder)]
            env = {**os.environ, **look.env, "QT_QPA_PLATFORM": "offscreen"}
            subprocess.run([*command, look.name, theme], cwd=ROOT, env=env, check=True)
    return 0


class Grabber:
    """One look in one theme, in a process that Qt knows as such a screen."""

    def __init__(self, folder: Path, look: Look, theme: str) -> None:
        self._app = QApplication(sys.argv[:1])
        self._pictures = folder / f"{look.name}-{theme}"
        self._pictures.mkdir(exist_ok=True)
        settings_path = self._pictures / "window.ini"
        settings_path.unlink(missing_ok=True)
        preferences = Preferences(settings_path)
        preferences.theme = theme
        self._window = MainWindow(preferences)
        self._window.resize(look.width, look.height)
        self._window.show()
        self._wait(_REST_S)

    def grab_all(self, runs: Path) -> None:
        """Every view of every stored run, which is unpacked below `runs`."""
        self.save(self._pictures / "welcome.png")
        for name, views in STORED.items():
            self.open(stored_run(name, runs / name))
            for view in views.split():
                self.show(view, most_s=3.0)
                self.save(self._pictures / f"{name}-{view}.png")
        self._window.close()

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


def _grab_one(folder: Path, name: str, theme: str) -> None:
    look = next(look for look in LOOKS if look.name == name)
    with TemporaryDirectory() as runs:
        Grabber(folder, look, theme).grab_all(Path(runs))
    sys.stdout.write(f"{name} {theme}\n")
    sys.stdout.flush()
    os._exit(0)  # views without a window are left, which Qt takes apart in no order


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _grab_one(Path(sys.argv[2]), *sys.argv[3:5])
    sys.exit(main())
