"""The window's process as a whole: what it loads, says and writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cases.case import Case
from tests.app.gui.runs import new_run

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
window.close()
print([name for name in {(*ENGINES, *LATER)!r} if name in sys.modules])
"""


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    base_environment = {
        k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env={**base_environment, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_window_opens_without_an_engine_torch_or_scipy(tmp_path: Path) -> None:
    result = _run("-c", LOADED, str(tmp_path), QT_QPA_PLATFORM="offscreen")
    assert result.stdout.strip() == "[]", result.stderr


def test_a_display_that_cannot_be_opened_is_one_sentence_that_names_run() -> None:
    result = _run("-m", "app", QT_QPA_PLATFORM="xcb", DISPLAY=":971")
    assert result.returncode == 2
    assert "graphlap run" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", ["--plan none.toml", "notes.txt", "gone.onnx"])
def test_what_cannot_be_opened_ends_before_a_window_opens(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    *option, file = name.split()
    result = _run("-m", "app", *option, str(tmp_path / file), QT_QPA_PLATFORM="offscreen")
    assert result.returncode == 2
    assert file in result.stderr


OPENED = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from app.gui import main, window

def look(shown):
    models = shown.editor.draft.sweeps[0].models
    print(shown.feed.folder.name if shown.feed.folder else models)
    shown.close()

original = window.MainWindow.show
window.MainWindow.show = lambda self: (original(self), QTimer.singleShot(400, lambda: look(self)))
sys.exit(main.main([Path(path) for path in sys.argv[1:]]))
"""


@pytest.mark.rare
def test_a_run_folder_is_opened_and_a_model_goes_to_the_editor(tmp_path: Path) -> None:
    from tests.app.gui.runs import tiny_model

    model = tiny_model(tmp_path / "tiny.onnx")
    with new_run(tmp_path / "monday", [Case("mlp", "fake")]):
        pass
    places = {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path / "home")}
    result = _run("-c", OPENED, str(tmp_path / "monday"), **places)
    assert result.stdout.strip() == "monday", result.stderr
    result = _run("-c", OPENED, str(model), **places)
    assert result.stdout.strip() == repr((str(model),)), result.stderr
