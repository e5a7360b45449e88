"""The window's process as a whole: what it loads, says and writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
