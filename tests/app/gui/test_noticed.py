"""What the window says to look at once a run is over, and where a click on it leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.columns.rows import Rows
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from app.insights.rules import find_insights
from app.run_folder.live_status import Live, LiveFile
from app.run_folder.table import write_tables
from app.runs.reader import read_run
from tests.app.gui.runs import new_run, record_round, records
from tests.app.gui.windows import open_run, seen
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS

CASES = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in range(1, 9))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Eight cases of three rounds, one of which jumps between two levels."""
    rng = np.random.default_rng(41)
    with new_run(tmp_path / "run", CASES) as folder:
        for case in CASES:
            draw = ONE_LEVEL["normal"] if case.threads != 7 else TWO_LEVELS["1.36 times, even, 5 %"]
            for number in range(3):
                record_round(folder, case, number, records(draw(rng, 1200).tolist()))
        LiveFile(folder).write(Live("finished", rounds_total=24, rounds_done=24), always=True)
        rows = Rows().of(read_run(folder.path))
        write_tables(folder, rows)
    return tmp_path / "run"


def test_a_click_on_what_was_noticed_shows_its_cases_in_the_view_that_shows_it(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    open_run(window, qtbot, run)
    badge = window.badge

    def links() -> list[QToolButton]:
        badge.open()
        return badge.links[-len(badge.findings) :] if badge.findings else []

    qtbot.waitUntil(lambda: bool(links()), timeout=30_000)
    sentences = [entry.sentence for entry in find_insights(Rows().measured(read_run(run)))]
    assert [link.accessibleName() for link in links()] == [f"Show: {entry}" for entry in sentences]
    (bimodal,) = (link for link in badge.links if "bimodal" in link.accessibleName())
    window.frame.show_key("boxes")
    window.table.filter_by("threads=2")
    QTest.mouseClick(bimodal, Qt.MouseButton.LeftButton)
    assert window.table.selected_keys() == [CASES[6].case_id]
    assert window.frame.current == "distribution"
    assert window.views.by_key["histogram"].isVisible()
    qtbot.waitUntil(lambda: seen(window).visible_keys == (CASES[6].case_id,), timeout=10_000)
    assert {entry.view for entry in seen(window).insights} <= {view.key for view in VIEWS}
