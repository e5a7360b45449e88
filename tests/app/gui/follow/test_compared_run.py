"""Two runs in one window: opened beside each other, moved on together, refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from app.cases.case import Case
from app.gui.look.errors import ErrorDialog
from app.gui.look.preferences import Preferences
from app.gui.window import MainWindow
from tests.app.gui.runs import new_run, record_round, records

CASE = Case("mlp", "fake")
OTHER = Case("mlp", "fake", threads=2)


def _run(path: Path, latency_us: float, *cases: Case) -> Path:
    with new_run(path, cases) as folder:
        for case in cases:
            record_round(folder, case, 0, records([latency_us + k % 7 for k in range(600)]))
    return path


@pytest.fixture
def window(qtbot, tmp_path: Path):
    made = MainWindow(Preferences(tmp_path / "window.ini"))
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close()


def test_the_second_run_is_asked_for_and_its_ratios_are_shown(
    window, qtbot, tmp_path, monkeypatch
) -> None:
    first = _run(tmp_path / "monday", 100.0, CASE, OTHER)
    second = _run(tmp_path / "tuesday", 197.0, CASE)
    window.open_run(first)
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=10_000)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(second))
    window.actions_by_key["compare"].trigger()
    view = window.views.by_key["compare"]
    qtbot.waitUntil(lambda: view.table()[1] != [], timeout=20_000)
    assert window.docks.page == "results"
    header, rows = view.table()
    assert len(rows) == 1, "only what both runs measured"
    told = dict(zip(header, rows[0], strict=True))
    assert told["p50_ratio"] == pytest.approx(200.0 / 103.0)
    assert told["p50_ci_low"] <= told["p50_ratio"] <= told["p50_ci_high"]


def test_without_an_open_run_the_remedy_is_told(window) -> None:
    window.actions_by_key["compare"].trigger()
    dialog = window.findChildren(ErrorDialog)[0]
    assert "Ctrl+O" in dialog.text
    dialog.close()


def test_a_second_folder_that_is_no_run_leaves_the_first_one_open(window, qtbot, tmp_path) -> None:
    first = _run(tmp_path / "monday", 100.0, CASE)
    window.open_run(first)
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=10_000)
    (tmp_path / "none").mkdir()
    window.compare_with(tmp_path / "none")
    qtbot.waitUntil(lambda: bool(window.findChildren(ErrorDialog)), timeout=10_000)
    dialog = window.findChildren(ErrorDialog)[0]
    assert "is no run folder" in dialog.text
    dialog.close()
    assert window.feed.folder == first
