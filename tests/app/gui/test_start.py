"""The window's process as a whole: what it loads, and what it says without a display."""

import os
import subprocess
import sys

ENGINES = ("torch", "onnxruntime", "openvino", "tensorrt")
LOADED = f"""
import sys
from PySide6.QtWidgets import QApplication
app = QApplication([])
from pathlib import Path
from app.gui.settings import Settings
from app.gui.window import MainWindow
window = MainWindow(Settings(Path(sys.argv[1]) / "window.ini"))
window.show()
window.editor.learn_runtimes()
window.welcome.try_button.click()
for page in ("results", "inspect", "measure"):
    window.docks.go_to(page)
for _ in range(20):
    app.processEvents()
window.close()
print([name for name in {ENGINES!r} if name in sys.modules])
"""


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_window_imports_no_engine_and_no_torch(tmp_path) -> None:
    told = _run("-c", LOADED, str(tmp_path), QT_QPA_PLATFORM="offscreen")
    assert told.stdout.strip() == "[]", told.stderr


def test_a_display_that_cannot_be_opened_is_one_sentence_that_names_headless() -> None:
    told = _run("-m", "app", QT_QPA_PLATFORM="xcb", DISPLAY=":971")
    assert told.returncode == 2
    assert "--headless" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_plan_that_is_none_ends_before_a_window_opens(tmp_path) -> None:
    told = _run("-m", "app", "--plan", str(tmp_path / "none.toml"), QT_QPA_PLATFORM="offscreen")
    assert told.returncode == 2
    assert "none.toml" in told.stderr
