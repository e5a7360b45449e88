"""`python -m tests.desktop.screenshots DIR [LOOK…]`: the real window on a real X server.

Composes and runs a sweep with real keystrokes and clicks, drops a run on the window as a file
manager does, opens runs of one, six and forty cases, and saves a picture of every view in both
themes, in each look: 900x560 with fonts at 175 %, 1280x800, 1920x1080, and 4K at scale 2. Needs
Linux; the Debian packages of `PACKAGES` are installed where they are missing and the user may. The
documentation's pictures are those of `tests.pictures`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from app.gui.views import VIEWS
from tests.checkout import ROOT
from tests.desktop.looks import LOOKS, THEMES, USUAL
from tests.desktop.program import Program, screen

_NAMES = """
xvfb xdotool libxcb-icccm4 libxcb-keysyms1 libxcb-cursor0 libxkbcommon-x11-0 libegl1
libxcb-image0 libxcb-render-util0 libxcb-shape0 fonts-dejavu-core
"""
PACKAGES = tuple(_NAMES.split())
_SIX = ("--models", "cnn_tiny,lstm_tiny", "--runtimes", "ort-cpu,openvino-cpu,fpga:v80")
RUNS = {
    "one": ("--models", "mlp", "--runtimes", "ort-cpu", "--rounds", "3"),
    "six": (*_SIX, "--rounds", "3", "--op-times"),
    "six-again": (*_SIX, "--rounds", "3", "--seed", "1"),
    "forty": (
        *("--models", "cnn_tiny,mlp", "--runtimes", "ort-cpu,openvino-cpu"),
        *("--batch", "1,2,4,8,16", "--threads", "1,2", "--rounds", "1"),
    ),
    "load": (
        *("--models", "mlp", "--runtimes", "ort-cpu,openvino-cpu", "--rounds", "1", "--scenario"),
        "poisson:500/s,poisson:2000/s,poisson:8000/s,poisson:16000/s",
    ),
    "cards": (
        *("--models", "cnn_tiny,lstm_tiny,cnn_small", "--rounds", "1", "--op-times"),
        *("--runtimes", "ort-cpu,fpga:v80,fpga:ia-840f,fpga:ia-420f"),
    ),
    "digits": (
        *("--suite", "digits", "--runtimes", "ort-cpu,openvino-cpu", "--batch", "64"),
        *("--rounds", "1"),
    ),
    "largest": (
        *("--models", "mlp,cnn_tiny", "--runtimes", "ort-cpu,openvino-cpu"),
        *("--largest-batch", "--memory-limit", "1GiB"),
    ),
}
EVERY_VIEW = ("one", "six", "forty")
SOME_VIEWS: dict[str, tuple[str, ...]] = {
    "load": ("trends",),
    "cards": ("ranking", "matrix", "schedule", "operators"),
    "digits": ("accuracy",),
    "largest": ("largest",),
}
"""What the other runs are there for; only in the usual look."""
COMPARED = ("six", "six-again")


def main() -> int:
    """Save all pictures below the folder that is named; returns 0."""
    out, *names = sys.argv[1:]
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    _install()
    runs = {name: _measure_run(folder / "runs" / name, flags) for name, flags in RUNS.items()}
    for look in LOOKS:
        for theme in THEMES if not names or look.name in names else ():
            pictures = folder / f"{look.name}-{theme}"
            pictures.mkdir(exist_ok=True)
            with screen(look) as display, Program(display, look, theme, pictures) as program:
                _tour(program, runs, usual=look is USUAL)
    return 0


def _install() -> None:
    missing = [package for package in PACKAGES if not _is_installed(package)]
    if not missing:
        return
    if os.geteuid():
        raise SystemExit(f"packages are missing: apt-get install {' '.join(missing)}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    subprocess.run(install, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def _is_installed(package: str) -> bool:
    query = subprocess.run(["dpkg", "-s", package], capture_output=True, check=False)
    return query.returncode == 0


def _measure_run(folder: Path, flags: tuple[str, ...]) -> Path:
    """Measure it once; a second call finds it there."""
    if not (folder / "manifest.json").is_file():
        command = [sys.executable, "-m", "app", "--headless", *flags]
        subprocess.run([*command, "--out", str(folder)], cwd=ROOT, check=False)
    return folder.resolve()


def _tour(program: Program, runs: dict[str, Path], usual: bool) -> None:
    program.shot("welcome")
    if usual:
        _measure_by_hand(program)
        assert program.drop(runs["one"]) == "CopyAction", "a real drag is taken"
        program.wait_for("folder", str(runs["one"]))
    for name in EVERY_VIEW:
        program.open_run(runs[name])
        if name == COMPARED[0]:
            program.open_run(runs[COMPARED[1]], "ctrl+d")
        for spec in VIEWS:
            _shot_of_view(program, name, spec.key)
    for name, keys in SOME_VIEWS.items() if usual else ():
        program.open_run(runs[name])
        for key in keys:
            _shot_of_view(program, name, key)


def _shot_of_view(program: Program, run: str, key: str) -> None:
    spec = next(spec for spec in VIEWS if spec.key == key)
    program.find(f"{spec.title} view")
    program.shot(f"{run}-{key}", wait_s=1.0)


def _measure_by_hand(program: Program) -> None:
    """Two models on three runtimes: composed, measured, paused, looked at alone."""
    program.press("ctrl+n")
    program.click("widget", "search models")
    program.type("tiny")
    for item in ("cnn_tiny", "lstm_tiny", "ort-cpu", "openvino-cpu", "fpga:v80"):
        program.click("item", item)
    program.click("widget", "round of the sweep")
    program.type("2")
    program.shot("editor")
    program.press("F5")
    program.wait_for("state", "running")
    program.wait_for("phase", "measure")
    program.shot("measuring", wait_s=1.5)
    program.press("F6")
    program.wait_for("word", "PAUSED")
    program.shot("paused", wait_s=9.0)  # what the action said has gone by then
    program.press("F6")
    program.wait_for("state", "idle", 180.0)
    program.shot("finished", wait_s=3.0)
    program.press("F11")
    program.shot("one-view-full", wait_s=1.0)
    program.press("F11")
    program.press("ctrl+k")
    program.wait_for("asked", "True")
    program.click("widget", "find anything")
    program.type("heat")
    program.shot("palette")
    program.press("Escape", "F1")
    program.shot("shortcuts")
    program.press("Escape")


if __name__ == "__main__":
    sys.exit(main())
