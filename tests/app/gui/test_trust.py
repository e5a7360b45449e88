"""What the window says of a run that can't be trusted, and where it leads."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.cases.status import Status
from app.formatting.text import one_line
from app.gui import run_feed
from app.gui.window import MainWindow
from app.run_folder.live_status import Live, LiveFile
from exporters.diagnostics import catalogue as rendering
from exporters.diagnostics.catalogue import diagnostic
from tests.app.gui.runs import new_run, record_round, records
from tests.app.gui.windows import open_run, seen, wait_for_summaries

BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)
CASES = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in range(1, 15))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Fourteen cases of one round: three were warned of, one gave wrong outputs."""
    with new_run(tmp_path / "run", CASES) as folder:
        for number, case in enumerate(CASES):
            warnings = [BUSY] if number < 3 else []
            status: Status = "wrong_output" if number == 5 else "ok"
            samples = records([50.0 + number + k % 7 for k in range(400)])
            record_round(folder, case, 0, samples, status, warnings)
        LiveFile(folder).write(Live("finished", rounds_total=14, rounds_done=14), always=True)
    return tmp_path / "run"


def test_the_badge_says_what_is_wrong_and_each_line_finds_its_cases(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    open_run(window, qtbot, run)
    wait_for_summaries(window, qtbot)

    badge, busy = window.badge, f"Show: {rendering.title(BUSY)}: 3 of 14 cases"

    def links() -> dict[str, QToolButton]:
        return {link.accessibleName(): link for link in badge.links}

    def is_there() -> bool:
        badge.open()
        return busy in links()

    qtbot.waitUntil(is_there, timeout=30_000)
    assert badge.isVisible() and badge.panel.isVisible()
    assert badge.text().startswith("wrong output: 1 of 14 cases"), "the gravest first"
    assert len(badge.groups) <= 6
    assert badge.groups[0].cause == "Failed cases"
    few = rendering.title(diagnostic("few_rounds", rounds=1))
    assert any(few in text for text in links())
    (group,) = (entry for entry in badge.groups if entry.cause == "Disturbed machine")
    assert group.action == one_line(rendering.action(BUSY))
    QTest.mouseClick(links()[busy], Qt.MouseButton.LeftButton)
    assert not badge.panel.isVisible()
    assert window.table.filter.rowCount() == 3
    for key in ("ranking", "trends", "matrix", "summary"):
        keys = {entry.key for entry in window.views.by_key[key].series}
        assert keys == {case.case_id for case in CASES[:3]}, "the filter holds for every view"
    window.table.filter_by("")
    assert window.table.filter.rowCount() == 14
    assert len(window.views.by_key["ranking"].series) == 14
    assert "1 of 14 cases failed" in window.progress.bar.format()


def test_what_is_not_shown_is_said(
    window: MainWindow, qtbot: QtBot, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_feed, "MOST_SHOWN", 12)
    window.frame.show_key("histogram")
    open_run(window, qtbot, run)
    view = window.views.by_key["histogram"]
    qtbot.waitUntil(lambda: len(seen(window).visible_keys) == 6 and len(view.series) == 6)
    qtbot.waitUntil(lambda: view.heading._note.startswith("6 of 14 cases shown"), timeout=10_000)
    window.table.view.selectAll()
    part = "12 of 14 selected cases shown"
    qtbot.waitUntil(lambda: view.heading._note.startswith(part), timeout=10_000)
    window.table.select([case.case_id for case in CASES[:2]])
    qtbot.waitUntil(lambda: "shown" not in view.heading._note, timeout=10_000)
