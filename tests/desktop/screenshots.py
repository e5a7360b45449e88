"""`python -m tests.desktop.screenshots DIR`: the real window on a real X server, photographed.

Composes and runs a sweep with real keystrokes and clicks, opens a larger run, and saves a
picture of every view in both themes, at 1280x800 and at twice that. Needs Linux; the Debian
packages of `PACKAGES` are installed where they are missing and the user may.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.checkout import ROOT

_NAMES = """
xvfb xdotool libxcb-icccm4 libxcb-keysyms1 libxcb-cursor0 libxkbcommon-x11-0 libegl1
libxcb-image0 libxcb-render-util0 libxcb-shape0 fonts-dejavu-core
"""
PACKAGES = tuple(_NAMES.split())
WIDTH, HEIGHT = 1280, 800
_TINY = (
    "--models", "cnn_tiny,lstm_tiny,mlp",
    "--runtimes", "ort-cpu,openvino-cpu,torch-cpu,fpga:v80",
)  # fmt: skip
RUNS = {
    "runtimes": (*_TINY, "--batch", "1,4,16", "--profile-ops"),
    "runtimes-again": (*_TINY, "--batch", "1,4,16", "--seed", "1"),
    "cards": (
        "--models", "cnn_tiny,lstm_tiny,cnn_small", "--runtimes",
        "ort-cpu,fpga:v80,fpga:ia-840f,fpga:ia-420f", "--profile-ops",
    ),
    "digits": ("--suite", "digits", "--runtimes", "ort-cpu,openvino-cpu", "--batch", "64"),
    "largest": (
        "--models", "mlp,cnn_tiny", "--runtimes", "ort-cpu,openvino-cpu",
        "--largest-batch", "--memory-limit", "1GiB",
    ),
}  # fmt: skip
VIEWS: dict[str, dict[str, tuple[str, ...]]] = {
    "runtimes": {
        "Measure": ("Histogram", "Cumulative", "Percentiles", "Timeline"),
        "Results": ("Box plots", "Batch size", "Heat map", "Compare"),
        "Inspect": ("Model graph", "Operators"),
    },
    "cards": {
        "Measure": ("Histogram",),
        "Results": ("Devices", "Heat map"),
        "Inspect": ("FPGA schedule", "Operators"),
    },
    "digits": {"Results": ("Accuracy", "Heat map")},
    "largest": {"Results": ("Largest batch", "Batch size")},
}
"""The runs that are opened one after another, and what is looked at in each."""
COMPARED = ("runtimes", "runtimes-again")


def main() -> int:
    """Save all pictures below the folder that is named; returns 0."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    _install()
    runs = {name: _measured(out / "runs" / name, flags) for name, flags in RUNS.items()}
    for scale in (1, 2):
        for theme in ("light", "dark"):
            folder = out / f"{theme}-{scale}x"
            folder.mkdir(exist_ok=True)
            with _screen(scale) as display, Window(display, scale, theme, folder) as window:
                _tour(window, runs)
    return 0


def _install() -> None:
    if shutil.which("Xvfb") and shutil.which("xdotool"):
        return
    if os.geteuid():
        raise SystemExit(f"Xvfb or xdotool is missing: apt-get install {' '.join(PACKAGES)}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    subprocess.run(install, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def _measured(folder: Path, flags: tuple[str, ...]) -> Path:
    """Measure it once; a second call finds it there."""
    if not (folder / "manifest.json").is_file():
        command = [sys.executable, "-m", "app", "--headless", *flags, "--rounds", "1"]
        subprocess.run([*command, "--out", str(folder)], cwd=ROOT, check=False)
    return folder.resolve()


@contextmanager
def _screen(scale: int) -> Iterator[str]:
    size = f"{WIDTH * scale}x{HEIGHT * scale}x24"
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        number = pipe.readline().strip()
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


class Window:
    """The program under test, its keyboard and its mouse."""

    def __init__(self, display: str, scale: int, theme: str, folder: Path) -> None:
        self.folder = folder
        self._scale = scale
        self._home = tempfile.TemporaryDirectory()
        home = Path(self._home.name)
        (home / "graphlap").mkdir()
        (home / "graphlap" / "window.ini").write_text(f"[General]\ntheme={theme}\n")
        self._env = {
            **os.environ,
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "QT_SCALE_FACTOR": str(scale),
            "XDG_CONFIG_HOME": str(home),
            "XDG_DATA_HOME": str(home),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.desktop.probe"],
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        json.loads(self._from.readline())

    def __enter__(self) -> Window:
        time.sleep(1.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._to.write("quit\n")
        self._to.close()
        self._process.wait(30)
        self._from.close()
        self._home.cleanup()

    def _ask(self, line: str) -> dict[str, Any]:
        self._to.write(line + "\n")
        self._to.flush()
        answer: dict[str, Any] = json.loads(self._from.readline())
        return answer

    def _xdotool(self, *words: object) -> None:
        subprocess.run(["xdotool", *map(str, words)], env=self._env, check=True)
        time.sleep(0.15)

    def click(self, kind: str, name: str) -> None:
        """Click where the named thing is now; an assertion fails if it can't be seen."""
        at = self._ask(f"where {kind} {name}")["at"]
        assert at is not None, f"there is no {kind} {name!r} to click on"
        self._xdotool("mousemove", *at, "click", 1)

    def sees(self, kind: str, name: str) -> bool:
        return self._ask(f"where {kind} {name}")["at"] is not None

    def press(self, *keys: str) -> None:
        self._xdotool("key", "--clearmodifiers", *keys)

    def type(self, text: str) -> None:
        self._xdotool("type", "--delay", 12, text)

    def shot(self, name: str, wait_s: float = 0.6) -> None:
        self._xdotool("mousemove", 3, 3)
        time.sleep(wait_s)
        path = (self.folder / f"{name}.png").resolve()
        assert self._ask(f"shot {path}")["saved"]

    def wait_for(self, key: str, value: str, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while self._ask("busy")[key] != value:
            assert time.monotonic() < until, f"{key} never became {value}"
            time.sleep(0.2)

    def open_run(self, folder: Path, keys: str = "ctrl+o") -> None:
        self.press(keys)
        self.wait_for("asked", "True")
        self.press("ctrl+a")
        self.type(str(folder))
        self.press("Return")
        self.wait_for("asked", "False")
        if keys == "ctrl+o":
            self.wait_for("folder", str(folder))
        # Without a window manager nobody gives the keyboard back to the window.
        self._xdotool("mousemove", 400 * self._scale, (HEIGHT - 8) * self._scale, "click", 1)
        time.sleep(2.5)


def _tour(window: Window, runs: dict[str, Path]) -> None:
    window.shot("welcome")
    _compose(window)
    window.shot("editor")
    window.press("F5")
    window.wait_for("state", "running")
    window.wait_for("phase", "measure")
    window.shot("measuring", wait_s=1.5)
    window.click("tab", "Timeline")
    window.wait_for("phase", "measure")
    window.shot("measuring-timeline", wait_s=1.0)
    window.wait_for("state", "idle")
    window.shot("finished", wait_s=3.0)
    window.click("tab", "Log")
    window.shot("log")
    window.click("tab", "Results table")
    _look_at_runs(window, runs)
    window.press("F1")
    window.shot("shortcuts")
    window.press("Escape")


def _look_at_runs(window: Window, runs: dict[str, Path]) -> None:
    for name, pages in VIEWS.items():
        window.open_run(runs[name])
        if name == COMPARED[0]:
            window.open_run(runs[COMPARED[1]], "ctrl+d")
        for number, page in enumerate(("Measure", "Results", "Inspect"), start=1):
            if page in pages:
                window.press(f"ctrl+{number}")
            for view in pages.get(page, ()):
                window.click("tab", view)
                picture = f"{name}-{view}".lower().replace(" ", "-")
                window.shot(picture, wait_s=1.2)
        window.press("ctrl+1")


def _compose(window: Window) -> None:
    """Two models on three runtimes, by hand."""
    window.click("widget", "search models")
    window.type("tiny")
    window.click("item", "cnn_tiny")
    window.click("item", "lstm_tiny")
    for runtime in ("ort-cpu", "openvino-cpu", "fpga:v80"):
        window.click("item", runtime)
    window.click("widget", "round of the sweep")
    window.type("1")


if __name__ == "__main__":
    sys.exit(main())
