"""The history of a case in the whole window: the runs beside the open one, and what changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.plots.history import ChangeLayer, HistoryView
from app.gui.window import MainWindow
from tests.app.gui.windows import open_run
from tests.app.history.pasts import nights_at
from tests.app.run_folder.runs import CASE, OTHER


def _texts(view: HistoryView) -> list[str]:
    return [entry.text for entry in view.legend._entries]


def test_a_case_is_followed_over_the_runs_beside_the_open_one(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    nights = nights_at(tmp_path / "all", [1.0] * 6 + [1.3] * 6)
    for night in nights:
        night.rename(tmp_path / night.name)
    open_run(window, qtbot, tmp_path / nights[-1].name)
    window.table.select([CASE.case_id])
    window.frame.show_key("history")
    view = window.views.by_key["history"]
    assert isinstance(view, HistoryView)
    qtbot.waitUntil(lambda: bool(view.plots), timeout=60_000)
    qtbot.waitUntil(lambda: _texts(view) == ["slower from this run on"], timeout=20_000)
    p50 = next(layer for layer in view._layers if isinstance(layer, ChangeLayer))
    (change,) = p50._changes
    assert change.ratio == pytest.approx(1.3, rel=0.02)
    header, rows = view.table()
    p50s = [row for row in rows if row[header.index("percentile")] == "p50"]
    assert len(p50s) == 12
    values = [row[header.index("value_us")] for row in p50s]
    assert values[5] == pytest.approx(100.0, rel=0.03)  # levels differ by 0.3 % and noise
    assert values[6] == pytest.approx(130.0, rel=0.03)

    window.table.select([OTHER.case_id])
    qtbot.waitUntil(lambda: _texts(view) == [], timeout=20_000)
    first = view.table()[1][0]
    assert first[header.index("value_us")] == pytest.approx(200.0, rel=0.03)


def test_what_is_missing_is_said(qtbot: QtBot) -> None:
    view = HistoryView()
    qtbot.addWidget(view)
    view.show()
    assert "Open a run" in view._missing.text()
