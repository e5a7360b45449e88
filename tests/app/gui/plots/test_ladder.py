"""The ladder of a search over options in the window."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.capabilities.tuning.files import files_of
from app.gui.plots.bars import BarLayer
from app.gui.plots.searches import LadderView
from app.runs.following.reader import RunReader
from app.runs.reader import read_run
from tests.app.capabilities.tuning.tuned_runs import found_in, new_tune, play
from tests.app.gui.plots.views import on_screen, tuned


def test_a_bar_for_each_step_says_its_gain_and_what_to_doubt(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LadderView(), tuned())
    (layer,) = view._layers
    assert isinstance(layer, BarLayer)
    assert [bar.value for bar in layer._bars] == [130.0, 260.0, 262.0]
    first, better, doubtful_step = (bar.text for bar in layer._bars)
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
