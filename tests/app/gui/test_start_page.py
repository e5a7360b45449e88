"""The start page: recent runs, and sweeps that are being measured while a window opens."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.start import StartPage, running_sweeps
from tests.app.gui.runs import new_run

CASE = Case("cnn_tiny", "fake")


def _rows(page: StartPage) -> dict[str, QPushButton]:
    """The rows by what a screen reader calls them."""
    return {row.accessibleName(): row for row in page.findChildren(QPushButton) if row.isVisible()}


def test_a_recent_run_is_opened_by_its_row(qtbot: QtBot, tmp_path: Path) -> None:
    page = StartPage(lambda: tmp_path)
    qtbot.addWidget(page)
    page.show()
    page.show_recent([tmp_path / "one", tmp_path / "two"])
    qtbot.waitUntil(lambda: "open two" in _rows(page))
    with qtbot.waitSignal(page.open_asked) as blocker:
        _rows(page)["open two"].click()
    assert blocker.args == [tmp_path / "two"]


def test_a_sweep_that_is_being_measured_is_offered_until_it_ends(
    qtbot: QtBot, tmp_path: Path
) -> None:
    page = StartPage(lambda: tmp_path)
    qtbot.addWidget(page)
    with new_run(tmp_path / "monday", [CASE]):
        pass
    with new_run(tmp_path / "tuesday", [CASE]):
        assert running_sweeps(tmp_path) == ((tmp_path / "tuesday").resolve(),)
        page.show()
        qtbot.waitUntil(lambda: "open tuesday" in _rows(page), timeout=10_000)
        with qtbot.waitSignal(page.open_asked) as blocker:
            _rows(page)["open tuesday"].click()
        assert blocker.args == [(tmp_path / "tuesday").resolve()]
    page.look()
    assert "open tuesday" not in _rows(page)
    assert running_sweeps(tmp_path / "none") == ()
