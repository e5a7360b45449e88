"""The matrix of a check and the ladder of a search: what stands where, and what a click does."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.capabilities.tuning.files import files_of
from app.cases.status import STATUSES
from app.gui.look.theme import DARK, LIGHT, Theme
from app.gui.plots.figure_view import FigureLayer
from app.gui.plots.matrix import ChecksView, TileLayer, tone_color
from app.gui.plots.searches import LadderView
from app.runs.following.reader import RunReader
from app.runs.reader import read_run
from tests.app.capabilities.tuning.tuned_runs import found_in, new_tune, play
from tests.app.gui.plots.views import checks, on_screen, tuned


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
    (layer,) = (item for item in view.canvas.scene().items() if isinstance(item, TileLayer))
    for case, tile in zip(view.series, layer._tiles, strict=True):
        middle = view.canvas.mapFromScene(
            layer.mapToScene(layer.rect_of(tile.row, tile.column).center())
        )
        with qtbot.waitSignal(view.picked) as blocker:
            QTest.mouseClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(middle))
        assert blocker.args == [(case.key,), False]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_statuses_of_different_tones_have_different_colours(theme: Theme) -> None:
    tones = {facts.tone for facts in STATUSES.values()}
    assert len({tone_color(tone, theme).name() for tone in tones}) == len(tones) == 3


def test_a_bar_for_each_step_says_its_gain_and_what_to_doubt(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LadderView(), tuned())
    (layer,) = view._layers
    assert isinstance(layer, FigureLayer)
    assert [bar.x for bar in layer.figure.marks] == [130.0, 260.0, 262.0]
    first, better, doubtful_step = (bar.label for bar in layer.figure.marks)
    assert "times" not in first
    assert better.endswith("2.00 (1.900 to 2.100) times")
    assert doubtful_step.endswith("times, undecided")
    assert view.table()[1][1][:3] == ["vgg16", "batch 16", 260.0]


def test_a_followed_run_has_its_ladder_once_it_is_told(tmp_path: Path) -> None:
    with new_tune(tmp_path / "run", "p50", rounds=3) as folder:
        play(folder)
        with closing(RunReader(folder.path)) as reader:
            state = reader.poll()
            assert state is not None
            assert all(case_series.ladder is None for case_series in state.series)
            for name, data in files_of(read_run(folder.path), found_in(folder)):
                folder.write(name, data)
            state = reader.poll()
        assert state is not None
        (ladder,) = [case_series.ladder for case_series in state.series if case_series.ladder]
        assert ladder == found_in(folder).searches[0][1]
