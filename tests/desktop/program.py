"""The window on a real X server, with a keyboard and a mouse of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.checkout import ROOT
from tests.desktop.drag_source import SIDE
from tests.desktop.looks import Look


@contextmanager
def screen(look: Look) -> Iterator[str]:
    """An X server of that size; gives the name of its display."""
    size = f"{look.width * look.scale}x{look.height * look.scale}x24"
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


class Program:
    """The program under test, as large as the screen; pictures go to `folder`."""

    def __init__(self, display: str, look: Look, theme: str, folder: Path) -> None:
        self.folder = folder
        self._look = look
        self._home = tempfile.TemporaryDirectory()
        home = Path(self._home.name)
        (home / "graphlap").mkdir()
        (home / "graphlap" / "window.ini").write_text(f"[General]\ntheme={theme}\n")
        self._env = {
            **os.environ,
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            **look.env,
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
        self._commands, self._replies = self._process.stdin, self._process.stdout
        json.loads(self._replies.readline())
        self._ask(f"size {look.width} {look.height}")

    def __enter__(self) -> Program:
        time.sleep(1.0)
        self._keep_keyboard()
        return self

    def __exit__(self, *_: object) -> None:
        self._commands.write("quit\n")
        self._commands.close()
        self._process.wait(30)
        self._replies.close()
        self._home.cleanup()

    def click(self, kind: str, name: str, button: int = 1) -> None:
        """Click where the named thing is now; an assertion fails if it can't be seen."""
        position = self._ask(f"where {kind} {name}")["at"]
        assert position is not None, f"there is no {kind} {name!r} to click on"
        self._xdotool("mousemove", *position, "click", button)

    def press(self, *keys: str) -> None:
        self._xdotool("key", "--clearmodifiers", *keys)

    def type(self, text: str) -> None:
        self._xdotool("type", "--delay", 12, text)

    def find(self, words: str) -> None:
        """Do the first thing that the palette finds."""
        self.press("ctrl+k")
        self.wait_for("asked", "True")
        self.click("widget", "find anything")
        self.type(words)
        self.press("Return")
        self._keep_keyboard()

    def shot(self, name: str, wait_s: float = 0.6) -> None:
        self._xdotool("mousemove", 3, 3)
        time.sleep(wait_s)
        path = (self.folder / f"{name}.png").resolve()
        assert self._ask(f"shot {path}")["saved"]

    def wait_for(self, key: str, value: str, seconds: float = 60.0) -> None:
        deadline_s = time.monotonic() + seconds
        while self._ask("busy")[key] != value:
            assert time.monotonic() < deadline_s, f"{key} never became {value}"
            time.sleep(0.2)

    def open_run(self, folder: Path, keys: str = "ctrl+o") -> None:
        self._keep_keyboard()
        self.press(keys)
        self.wait_for("asked", "True")
        self.press("ctrl+a")
        self.type(str(folder))
        self.press("Return")
        self.wait_for("asked", "False")
        if keys == "ctrl+o":
            self.wait_for("folder", str(folder))
        self._keep_keyboard()
        time.sleep(2.5)

    def drop(self, *paths: Path) -> str:
        """Drag files over the middle of the window and let go; how they were taken."""
        corner = (self._look.width - SIDE, self._look.height - SIDE)
        source = subprocess.Popen(
            [sys.executable, "-m", "tests.desktop.drag_source", *map(str, corner + paths)],
            cwd=ROOT,
            env=self._env,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert source.stdout is not None
        source.stdout.readline()
        time.sleep(1.0)
        begin = [(part + SIDE // 2) * self._look.scale for part in corner]
        end = [self._look.width * self._look.scale // 2, self._look.height * self._look.scale // 2]
        self._xdotool("mousemove", *begin, "mousedown", 1)
        for step in range(1, 11):
            position = [round(a + (b - a) * step / 10) for a, b in zip(begin, end, strict=True)]
            self._xdotool("mousemove", *position)
        self._xdotool("mouseup", 1)
        action = source.stdout.readline().strip()
        source.terminate()
        source.communicate()
        return action

    def _keep_keyboard(self) -> None:
        """Without a window manager nobody gives the keyboard back to the window."""
        position = (400 * self._look.scale, (self._look.height - 6) * self._look.scale)
        self._xdotool("mousemove", *position, "click", 1)

    def _ask(self, line: str) -> dict[str, Any]:
        self._commands.write(line + "\n")
        self._commands.flush()
        answer: dict[str, Any] = json.loads(self._replies.readline())
        return answer

    def _xdotool(self, *words: object) -> None:
        subprocess.run(["xdotool", *map(str, words)], env=self._env, check=True)
        time.sleep(0.15)
