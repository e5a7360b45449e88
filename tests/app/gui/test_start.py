"""The window's process as a whole: what it loads, says and writes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.processes import Ended, python

ENGINES = ("torch", "onnxruntime", "openvino", "tensorrt", "tensorrt_rtx_bindings")
LATER = ("scipy",)
"""What takes long to load and is not needed before there are samples."""
LOADED = f"""
import sys
from PySide6.QtWidgets import QApplication
app = QApplication([])
from pathlib import Path
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
window = MainWindow(Preferences(Path(sys.argv[1]) / "window.ini"))
window.show()
window.editor.learn_runtimes()
window.editor.run_asked.disconnect(window.runs.run_plan)
window.start_page.try_button.click()
for key in ("matrix", "operators", "histogram", "editor"):
    window.frame.show_key(key)
for _ in range(20):
    app.processEvents()
print([name for name in {(*ENGINES, *LATER)!r} if name in sys.modules])
window.views.compare.draw = lambda: 1 / 0
try:
    window.frame.show_key("compare")
except ZeroDivisionError as error:
    print(error)
window.close()
"""


def _run(*arguments: str, cwd: Path = ROOT, **environment: str) -> Ended:
    base = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return python(
        *arguments, cwd=cwd, env={**base, "PYTHONPATH": str(ROOT), **environment}, timeout=60
    )


def test_the_window_opens_without_an_engine_torch_or_scipy_and_tells_what_a_view_raises(
    tmp_path: Path,
) -> None:
    """In place of a method of Qt: of PySide 6.11 and Python 3.11 alone it ends the process with a
    segmentation fault."""
    result = _run("-c", LOADED, str(tmp_path), QT_QPA_PLATFORM="offscreen")
    loaded, _, told = result.stdout.partition("\n")
    assert loaded == "[]", result.stderr
    assert "division by zero" in told, (result.returncode, result.stderr)


FIRST = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
app = QApplication([])
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
window = MainWindow(Preferences(Path(sys.argv[1])))
window.show()
app.processEvents()
room, seen = window.screen().availableGeometry(), window.frameGeometry()
print(room.contains(seen), window.isMaximized(), window.width(), window.height())
window.close()
"""


@pytest.mark.parametrize(
    ("width", "height", "text"), [(1280, 800, "True True"), (1920, 1080, "True False 1280 800")]
)
def test_the_first_start_fits_the_screen(
    tmp_path: Path, width: int, height: int, text: str
) -> None:
    screen = {"name": "0", "x": 0, "y": 0, "width": width, "height": height}
    screens = {"screens": [screen | {"logicalDpi": 96, "logicalBaseDpi": 96}]}
    (tmp_path / "screen.json").write_text(json.dumps(screens))
    platform = f"offscreen:configfile={tmp_path / 'screen.json'}"
    result = _run("-c", FIRST, str(tmp_path / "window.ini"), QT_QPA_PLATFORM=platform)
    assert result.stdout.startswith(text), (result.stdout, result.stderr)


@pytest.mark.parametrize(
    ("arguments", "told", "display"),
    [
        ("", "graphlap run", {"QT_QPA_PLATFORM": "xcb", "DISPLAY": ":971"}),
        ("--plan none.toml", "none.toml", {"QT_QPA_PLATFORM": "offscreen"}),
        ("notes.txt", "notes.txt", {"QT_QPA_PLATFORM": "offscreen"}),
        ("gone.onnx", "gone.onnx", {"QT_QPA_PLATFORM": "offscreen"}),
    ],
    ids=["no display", "no plan", "no model", "no file"],
)
def test_what_cannot_be_opened_is_one_sentence_before_a_window_opens(
    tmp_path: Path, arguments: str, told: str, display: dict[str, str]
) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    result = _run("-m", "app", *arguments.split(), cwd=tmp_path, **display)
    assert result.returncode == 2
    assert told in result.stderr and "Traceback" not in result.stderr
