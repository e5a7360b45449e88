"""How much of the window the plots have, and that nothing is cut off, by font and size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.look.preferences import Preferences
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from exporters.diagnostics import diagnostic
from tests.app.gui.runs import measured_run
from tests.app.gui.windows import open_run


def _has_room(window: MainWindow, canvas: QWidget) -> bool:
    return not cut_off(window) and 2 * canvas.height() >= window.height()


_SLACK_PX = 1


def cut_off(window: QWidget) -> list[str]:
    """The controls that are seen but not whole, each with why."""
    return [
        f"{_describe(control)}: {why}"
        for control in _find_controls(window)
        if (why := _why(control))
    ]


def _find_controls(window: QWidget) -> Iterator[QWidget]:
    for kind in CONTROLS:
        for control in window.findChildren(kind):
            qt_own = isinstance(control.parentWidget(), QTabBar)  # arrows that scroll tabs
            if control.isVisible() and not control.visibleRegion().isEmpty() and not qt_own:
                yield control


def _why(control: QWidget) -> str:
    minimum_size = control.minimumSizeHint()
    if isinstance(control, QLabel) and control.wordWrap():
        minimum_size.setHeight(control.heightForWidth(control.width()))
    is_elided = isinstance(control, QLabel) and control.sizePolicy().horizontalPolicy().name in (
        "Ignored",
        "Expanding",
    )
    if control.width() + _SLACK_PX < minimum_size.width() and not is_elided:
        return f"{control.width()} px wide, needs {minimum_size.width()}"
    if control.height() + _SLACK_PX < minimum_size.height():
        return f"{control.height()} px high, needs {minimum_size.height()}"
    return _over_an_edge(control)


def _over_an_edge(control: QWidget) -> str:
    """Whether some part of it lies outside what holds it; areas may be scrolled up and down."""
    holder = control.parentWidget()
    while holder is not None:
        place = QRect(control.mapTo(holder, QPoint(0, 0)), control.size())
        area = holder.parentWidget()
        is_scrolled = isinstance(area, QScrollArea) and area.viewport() is holder
        room = holder.rect().adjusted(-_SLACK_PX, -_SLACK_PX, _SLACK_PX, _SLACK_PX)
        if place.left() < room.left() or place.right() > room.right():
            return f"over the side of {_describe(holder)}"
        if not is_scrolled and (place.top() < room.top() or place.bottom() > room.bottom()):
            return f"over the edge of {_describe(holder)}"
        if isinstance(area, QAbstractScrollArea) or holder.isWindow():
            return "" if holder.isWindow() or area is None else _over_an_edge(area)
        holder = holder.parentWidget()
    return ""


def _describe(widget: QWidget) -> str:
    text = getattr(widget, "text", None)
    words = text() if callable(text) else ""
    return f"{type(widget).__name__} {widget.accessibleName() or words or widget.objectName()!r}"


CONTROLS = (QAbstractButton, QComboBox, QLineEdit, QLabel)
CASES = tuple(Case(model, "fake") for model in ("cnn_tiny", "lstm_tiny", "mlp"))
BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run that was warned of, so that all bars of the window are there."""
    return measured_run(tmp_path / "run", CASES, warned={k: [BUSY] for k in range(len(CASES))})


@pytest.mark.parametrize(
    ("width", "height"), [(900, 560), pytest.param(1280, 800, marks=pytest.mark.rare), (3840, 2160)]
)
def test_a_plot_has_half_of_the_height_and_nothing_is_cut_off(
    qtbot: QtBot, tmp_path: Path, run: Path, width: int, height: int
) -> None:
    window = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(window)
    window.resize(width, height)
    window.show()
    qtbot.waitExposed(window)
    QApplication.processEvents()
    assert (window.width(), window.height()) == (width, height)
    assert not cut_off(window)
    window.frame.show_key("editor")
    QApplication.processEvents()
    assert not cut_off(window)
    open_run(window, qtbot, run)
    qtbot.waitUntil(window.badge.isVisible, timeout=10_000)
    for spec in VIEWS:
        window.frame.show_key(spec.key)
        qtbot.wait(60)
        canvas = window.views.by_key[spec.key].canvas
        # Texts of a moment ago have their room later on a busy machine than on others.
        with suppress(qtbot.TimeoutError):
            qtbot.waitUntil(partial(_has_room, window, canvas), timeout=5_000)
        assert not cut_off(window), spec.key
        assert 2 * canvas.height() >= window.height(), (spec.key, canvas.height())


@pytest.mark.parametrize(
    ("width", "height"), [(900, 560), pytest.param(1920, 1080, marks=pytest.mark.rare)]
)
@pytest.mark.usefixtures("larger")
def test_so_it_is_with_a_font_of_175_percent(
    qtbot: QtBot, tmp_path: Path, run: Path, width: int, height: int
) -> None:
    test_a_plot_has_half_of_the_height_and_nothing_is_cut_off(qtbot, tmp_path, run, width, height)


def test_a_low_window_folds_the_details_and_one_view_has_the_whole_of_it_until_it_is_given_back(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    window.resize(1280, 800)
    open_run(window, qtbot, run)
    assert window.table.isVisible()
    window.resize(900, 560)
    qtbot.waitUntil(lambda: not window.table.isVisible())
    window.actions_by_key["details"].trigger()
    assert window.table.isVisible()
    window.frame.show_key("percentiles")
    panes = (window.header, window.series_list, window.frame.details)
    visibilities = [pane.isVisible() for pane in panes]
    view = window.views.by_key["percentiles"]
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    for back in (Qt.Key.Key_F11, Qt.Key.Key_Escape):
        view.canvas.setFocus()
        QTest.keyClick(window, Qt.Key.Key_F11)
        qtbot.waitUntil(lambda: view.width() > window.width() - 20)
        assert not any(pane.isVisible() for pane in panes)
        assert window.progress.isVisible(), "what is wrong with a run is shown there too"
        QTest.keyClick(view.canvas, back)
        qtbot.waitUntil(window.header.isVisible)
        assert [pane.isVisible() for pane in panes] == visibilities
        assert view.is_in_sight, "and it is in front as before"


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
    ("screen", "text"), [((1280, 800), "True True"), ((1920, 1080), "True False 1280 800")]
)
def test_the_first_start_fits_the_screen(
    tmp_path: Path, screen: tuple[int, int], text: str
) -> None:
    width, height = screen
    screen_entry = {"name": "0", "x": 0, "y": 0, "width": width, "height": height, "logicalDpi": 96}
    (tmp_path / "screen.json").write_text(
        json.dumps({"screens": [screen_entry | {"logicalBaseDpi": 96}]})
    )
    platform = f"offscreen:configfile={tmp_path / 'screen.json'}"
    path = subprocess.run(
        [sys.executable, "-c", FIRST, str(tmp_path / "window.ini")],
        env={**os.environ, "QT_QPA_PLATFORM": platform},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert path.stdout.startswith(text), (path.stdout, path.stderr)
