"""The window's process as a whole: what it loads, says and writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cases.case import Case
from tests.app.gui.runs import new_run, record_round, records
from tests.checkout import ROOT

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


def test_a_plan_that_is_none_ends_before_a_window_opens(tmp_path: Path) -> None:
    result = _run("-m", "app", "--plan", str(tmp_path / "none.toml"), QT_QPA_PLATFORM="offscreen")
    assert result.returncode == 2
    assert "none.toml" in result.stderr


def test_what_cannot_be_opened_ends_before_a_window_opens(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    for path in (tmp_path / "notes.txt", tmp_path / "gone.onnx"):
        result = _run("-m", "app", str(path), QT_QPA_PLATFORM="offscreen")
        assert result.returncode == 2
        assert path.name in result.stderr


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
    from app.cases.case import Case
    from tests.app.gui.runs import new_run, tiny_model

    model = tiny_model(tmp_path / "tiny.onnx")
    with new_run(tmp_path / "monday", [Case("mlp", "fake")]):
        pass
    places = {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path / "home")}
    result = _run("-c", OPENED, str(tmp_path / "monday"), **places)
    assert result.stdout.strip() == "monday", result.stderr
    result = _run("-c", OPENED, str(model), **places)
    assert result.stdout.strip() == repr((str(model),)), result.stderr


_CASES = [Case(model, "fake", threads=n) for model in ("mlp", "cnn_tiny") for n in (1, 2)]
_ROUND_OF_ACTIONS = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from app.gui import main
from app.gui.views import VIEWS

run, other = map(Path, sys.argv[1:])
made = []
shown_window = main.shown_window

def act():
    window = made[0]
    for folder in (run, other):
        window.open_run(folder)
        while window.feed.state is None or window.feed.folder != folder:
            QTest.qWait(20)
        for spec in VIEWS:
            window.frame.show_key(spec.key)
            QTest.qWait(100)
        window.toggle_theme()
        QTest.qWait(100)
    window.compare_with(run)
    QTest.qWait(300)
    window.resize(900, 560)
    window.actions_by_key["fill"].trigger()
    QTest.qWait(100)
    print("done")
    window.close()

def shown():
    made.append(shown_window())
    QTimer.singleShot(0, act)
    return made[0]

main.shown_window = shown
sys.exit(main.main())
"""


@pytest.mark.rare
def test_a_window_writes_nothing_to_standard_error(tmp_path: Path) -> None:
    for name in ("run", "other"):
        with new_run(tmp_path / name, _CASES) as folder:
            for place, case in enumerate(_CASES):
                for number in range(3):
                    samples = records([50.0 + 9 * place + (k * k) % 17 for k in range(400)])
                    record_round(folder, case, number, samples)
    env = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
    }
    runs = [str(tmp_path / name) for name in ("run", "other")]
    command = [sys.executable, "-c", _ROUND_OF_ACTIONS, *runs]
    child = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout, child.stderr) == (0, "done\n", "")
