"""How much of the window the plots have: by font and size, with the editor folded, and alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.arrangement import views_of
from app.gui.look.preferences import Preferences
from app.gui.views import PAGES
from app.gui.window import MainWindow
from exporters.diagnostics.catalogue import diagnostic
from tests.app.gui.geometry import cut_off
from tests.app.gui.runs import fake_plan, new_run, record_round, records, tiny_model
from tests.app.gui.windows import TIMEOUT_MS, open_run, run_plan

CASES = tuple(Case(model, "fake") for model in ("cnn_tiny", "lstm_tiny", "mlp"))
BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run that was warned of, so that all bars of the window are there."""
    with new_run(tmp_path / "run", CASES) as folder:
        for place, case in enumerate(CASES):
            samples = records([50.0 + 9 * place + k % 7 for k in range(400)])
            record_round(folder, case, 0, samples, warnings=[BUSY])
    return tmp_path / "run"


@pytest.fixture
def larger() -> Iterator[None]:
    """Fonts at 175 %, for windows that are made from now on."""
    before = QApplication.font()
    font = QApplication.font()
    font.setPointSizeF(1.75 * font.pointSizeF())
    QApplication.setFont(font)
    yield
    QApplication.setFont(before)


def shown(qtbot: QtBot, tmp_path: Path, width: int, height: int) -> MainWindow:
    window = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(window)
    window.resize(width, height)
    window.show()
    qtbot.waitExposed(window)
    QApplication.processEvents()
    return window


def assert_room(window: MainWindow, qtbot: QtBot, run: Path) -> None:
    """Nothing is cut off in any view of any page, and each plot has half of the height."""
    assert not cut_off(window)
    window.docks.show("editor")
    QApplication.processEvents()
    assert not cut_off(window)
    open_run(window, qtbot, run)
    qtbot.waitUntil(window.badge.isVisible, timeout=10_000)
    for page in PAGES:
        window.docks.go_to(page)
        for key in views_of(page):
            window.docks.show(key)
            qtbot.wait(60)
            view = window.views.by_key[key]
            assert not cut_off(window), key
            assert 2 * view.canvas.height() >= window.height(), key


@pytest.mark.parametrize(("width", "height"), [(900, 560), (1280, 800), (3840, 2160)])
def test_a_plot_has_half_of_the_height_and_nothing_is_cut_off(
    qtbot: QtBot, tmp_path: Path, run: Path, width: int, height: int
) -> None:
    window = shown(qtbot, tmp_path, width, height)
    assert (window.width(), window.height()) == (width, height)
    assert_room(window, qtbot, run)
    window.close()


@pytest.mark.usefixtures("larger")
@pytest.mark.parametrize(("width", "height"), [(900, 560), (1920, 1080)])
def test_so_it_is_with_a_font_of_175_percent(
    qtbot: QtBot, tmp_path: Path, run: Path, width: int, height: int
) -> None:
    window = shown(qtbot, tmp_path, width, height)
    assert (window.width(), window.height()) == (width, height)
    assert_room(window, qtbot, run)
    window.close()


def test_a_window_that_is_made_small_and_large_again_keeps_both_arrangements(
    window: MainWindow, qtbot: QtBot
) -> None:
    log, table = window.docks.docks["log"], window.docks.docks["results"]
    log.hide()
    window.resize(900, 560)
    qtbot.waitUntil(lambda: table in window.tabifiedDockWidgets(window.docks.docks["histogram"]))
    assert not log.isHidden(), "each has an arrangement of its own"
    window.resize(1280, 800)
    qtbot.waitUntil(
        lambda: table not in window.tabifiedDockWidgets(window.docks.docks["histogram"])
    )
    assert log.isHidden()


def test_the_editor_folds_once_a_run_starts_and_comes_back_where_it_was(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    editor = window.docks.docks["editor"]
    plot = window.docks.docks["histogram"]
    qtbot.waitUntil(editor.isVisible)
    before = editor.geometry()
    run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx")))
    qtbot.waitUntil(editor.isHidden, timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: plot.x() == 0, timeout=10_000)
    assert not window.actions_by_key["editor"].isChecked()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    QTest.keyClick(window, Qt.Key.Key_F9)
    qtbot.waitUntil(lambda: editor.geometry() == before, timeout=10_000)
    assert window.actions_by_key["editor"].isChecked()
    QTest.keyClick(window, Qt.Key.Key_F9)
    assert editor.isHidden()
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)


@pytest.mark.parametrize("back", [Qt.Key.Key_F11, Qt.Key.Key_Escape])
def test_one_view_has_the_whole_window_and_gives_it_back(
    window: MainWindow, qtbot: QtBot, run: Path, back: Qt.Key
) -> None:
    open_run(window, qtbot, run)
    window.docks.show("percentiles")
    docks = window.docks.docks
    there = [key for key, dock in docks.items() if not dock.isHidden()]
    view = window.views.by_key["percentiles"]
    view.canvas.setFocus()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    QTest.keyClick(window, Qt.Key.Key_F11)
    qtbot.waitUntil(lambda: view.width() > window.width() - 20)
    assert [key for key, dock in docks.items() if not dock.isHidden()] == ["percentiles"]
    assert not window.tool_bar.isVisible()
    assert window.progress.isVisible(), "what is wrong with a run is told there too"
    window.docks.save()
    QTest.keyClick(view.canvas, back)
    qtbot.waitUntil(window.tool_bar.isVisible)
    assert [key for key, dock in docks.items() if not dock.isHidden()] == there
    assert not view.visibleRegion().isEmpty(), "and it is in front as before"
    window.docks.go_to("results")
    window.docks.go_to("measure")
    assert [key for key, dock in docks.items() if not dock.isHidden()] == there


FIRST = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication, QTabBar
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
    ("screen", "told"),
    [((1280, 800), "True True"), ((1920, 1080), "True False 1280 800")],
)
def test_the_first_start_fits_the_screen(
    tmp_path: Path, screen: tuple[int, int], told: str
) -> None:
    width, height = screen
    one = {"name": "0", "x": 0, "y": 0, "width": width, "height": height, "logicalDpi": 96}
    (tmp_path / "screen.json").write_text(json.dumps({"screens": [one | {"logicalBaseDpi": 96}]}))
    platform = f"offscreen:configfile={tmp_path / 'screen.json'}"
    done = subprocess.run(
        [sys.executable, "-c", FIRST, str(tmp_path / "window.ini")],
        env={**os.environ, "QT_QPA_PLATFORM": platform},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith(told), (done.stdout, done.stderr)


def test_a_second_start_with_a_kept_arrangement_leaves_the_menus_free(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    window.close()
    later = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(later)
    later.show()
    # Without a loop Qt deletes nothing later: what an arrangement that is gone leaves is seen.
    for _ in range(10):
        QApplication.processEvents()
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    bars = [bar for bar in later.findChildren(QTabBar, options=direct) if bar.isVisible()]
    over = [bar for bar in bars if bar.geometry().intersects(later.menuBar().geometry())]
    assert not over, "tab bars of an arrangement that is gone stand over the menus"
    assert any(later.rect().contains(bar.geometry()) for bar in bars), "those of this one are there"
    later.close()
