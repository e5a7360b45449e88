"""The matrix of a check: what stands where, in which colour, and what a click does."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.cases.status import STATUSES
from app.gui.look.theme import DARK, LIGHT, Theme
from app.gui.plots.checks import ChecksView, PlaceLayer, tone_color
from tests.app.gui.plots.views import checks, on_screen


def test_a_place_says_how_its_case_ended(qtbot: QtBot) -> None:
    view = on_screen(qtbot, ChecksView(), checks())
    assert view.table() == (
        ["model", "ort-cpu", "fpga:v80", "tensorrt-rtx:sm89", "openvino-cpu"],
        [
            ["alexnet", "compiles", "compiles", "built", "compile failed"],
            ["vgg16", "compiles", "partial", "unsupported", "waiting"],
        ],
    )


def test_a_click_on_a_place_chooses_its_case(qtbot: QtBot) -> None:
    view = on_screen(qtbot, ChecksView(), checks())
    (layer,) = (item for item in view.canvas.scene().items() if isinstance(item, PlaceLayer))
    for place in layer._places:
        middle = view.canvas.mapFromScene(
            layer.mapToScene(layer.rect_of(place.row, place.column).center())
        )
        with qtbot.waitSignal(view.picked) as blocker:
            QTest.mouseClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(middle))
        assert blocker.args == [(place.key,), False]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_statuses_of_different_tones_have_different_colours(theme: Theme) -> None:
    tones = {facts.tone for facts in STATUSES.values()}
    assert len({tone_color(tone, theme).name() for tone in tones}) == len(tones) == 3
