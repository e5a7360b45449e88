"""How much of the window the plots have, and that nothing is cut off, by font and size."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
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
from tests.app.gui.windows import activate, open_run

_SLACK_PX = 1
CONTROLS = (QAbstractButton, QComboBox, QLineEdit, QLabel)


def _has_room(window: MainWindow, canvas: QWidget) -> bool:
    return not cut_off(window) and 2 * canvas.height() >= window.height()


def cut_off(window: QWidget) -> list[str]:
    """The controls that are seen but not whole, each with why."""
    found = []
    for kind in CONTROLS:
        for control in window.findChildren(kind):
            qt_own = isinstance(control.parentWidget(), QTabBar)  # arrows that scroll tabs
            if control.isVisible() and not control.visibleRegion().isEmpty() and not qt_own:
                why = _too_small(control) or _over_an_edge(control)
                found += [f"{control} {control.accessibleName()}: {why}"] if why else []
    return found


def _too_small(control: QWidget) -> str:
    needed, slack = control.minimumSizeHint(), QSize(_SLACK_PX, _SLACK_PX)
    if isinstance(control, QLabel):
        if control.wordWrap():
            needed.setHeight(control.heightForWidth(control.width()))
        if control.sizePolicy().horizontalPolicy().name in ("Ignored", "Expanding"):
            needed.setWidth(0)  # its text is shortened
    whole = (control.size() + slack).expandedTo(needed) == control.size() + slack
    return "" if whole else f"{control.size()}, needs {needed}"


def _over_an_edge(control: QWidget) -> str:
    """Whether some part of it lies outside what holds it; areas may be scrolled up and down."""
    holder = control.parentWidget()
    while holder is not None:
        place = QRect(control.mapTo(holder, QPoint(0, 0)), control.size())
        area = holder.parentWidget()
        is_scrolled = isinstance(area, QScrollArea) and area.viewport() is holder
        room = holder.rect().adjusted(-_SLACK_PX, -_SLACK_PX, _SLACK_PX, _SLACK_PX)
        if is_scrolled:
            place.moveTop(room.top())
            place.setHeight(room.height())
        if not room.contains(place):
            return f"over an edge of {holder}"
        if isinstance(area, QAbstractScrollArea) or holder.isWindow():
            return "" if holder.isWindow() or area is None else _over_an_edge(area)
        holder = area
    return ""


CASES = tuple(Case(model, "fake") for model in ("cnn_tiny", "lstm_tiny", "mlp"))
BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run that was warned of, so that all bars of the window are there."""
    return measured_run(tmp_path / "run", CASES, warned={k: [BUSY] for k in range(len(CASES))})


@pytest.mark.parametrize(
    ("width", "height", "font"),
    [
        pytest.param(900, 560, "", marks=pytest.mark.rare),
        (3840, 2160, ""),
        (900, 560, "larger"),
        pytest.param(1920, 1080, "larger", marks=pytest.mark.rare),
    ],
)
def test_a_plot_has_half_of_the_height_and_nothing_is_cut_off(
    request: pytest.FixtureRequest, qtbot: QtBot, run: Path, width: int, height: int, font: str
) -> None:
    if font:
        request.getfixturevalue(font)
    window = MainWindow(Preferences(run.with_name("window.ini")))
    qtbot.addWidget(window)
    window.resize(width, height)
    window.show()
    qtbot.waitExposed(window)
    for page in ("", "editor"):
        if page:
            window.frame.show_key(page)
        QApplication.processEvents()
        assert (window.width(), window.height()) == (width, height)
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
    activate(qtbot, window)
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
