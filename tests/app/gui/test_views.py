"""The bar of views: what it names, what is under "+", and how plots of one place take turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series
from app.gui.views import VIEWS, ViewArea, Views
from tests.app.gui.plots.views import finished, live, stored


@pytest.fixture
def area(qtbot: QtBot) -> ViewArea:
    view_area = ViewArea(Views())
    qtbot.addWidget(view_area)
    view_area.resize(1000, 600)
    view_area.show()
    qtbot.waitExposed(view_area)
    return view_area


def _feed(area: ViewArea, cases: list[Series]) -> None:
    for spec in VIEWS:
        if spec.fed in ("shown", "all"):
            area.places[spec.place].plots[spec.key].set_series(cases)
    QApplication.processEvents()


def _tab_names(area: ViewArea) -> list[str]:
    return [area.bar.tabText(k) for k in range(area.bar.count())]


def _under_plus(area: ViewArea) -> list[str]:
    return [action.text() for action in area.plus.menu().actions()]


def test_the_bar_names_what_the_run_has_data_for_and_the_rest_is_under_plus(
    area: ViewArea, tmp_path: Path
) -> None:
    area.resize(2000, 600)
    _feed(area, finished())
    assert _tab_names(area) == [
        "Summary", "Ranking", "Distribution", "Timeline", "Trends", "Matrix", "Inspect",
        "Largest batch", "Accuracy",
    ]  # fmt: skip
    assert _under_plus(area) == ["Compare", "History", "Check", "Tuning steps"]
    _feed(area, live()[:1])
    assert _tab_names(area) == ["Summary", "Ranking", "Distribution", "Timeline", "Inspect"]
    _feed(area, stored("check", tmp_path))
    assert "Check" in _tab_names(area)


def test_a_view_that_is_asked_for_is_there_without_data_and_keys_go_from_view_to_view(
    qtbot: QtBot, area: ViewArea
) -> None:
    _feed(area, finished())
    area.show_view("compare")
    assert area.current == "compare"
    assert area.places["compare"].isVisible()
    area.show_view("percentiles")
    place = area.places["distribution"]
    assert area.current == "distribution" and place.plots["percentiles"].isVisible()
    assert not place.plots["histogram"].isVisible()
    assert "Compare" in _under_plus(area), "nobody looks at it any more"
    area.show_view("histogram")
    area.show_view("ranking")
    area.bar.setFocus()
    with qtbot.waitSignal(area.shown) as blocker:
        QTest.keyClick(area.bar, Qt.Key.Key_Right)
    assert blocker.args == ["distribution"]
    QTest.keyClick(place.switch, Qt.Key.Key_Down)
    assert place.plot == "percentiles"
