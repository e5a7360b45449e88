"""The start page, the history of a case, imported runs and runs that can't be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import ranked
from app.cases.case import Case
from app.formatting.text import one_line
from app.gui import run_feed
from app.gui.plots.compare import HistoryView
from app.gui.plots.style import legend_text
from app.gui.start import StartPage, running_sweeps
from app.gui.window import MainWindow
from exporters import diagnostics as rendering
from exporters.diagnostics import diagnostic
from tests.app.gui.plots.views import figures_of
from tests.app.gui.runs import measured_run, new_run
from tests.app.gui.windows import open_run, seen, statuses, wait_for_summaries
from tests.app.run_folder.runs import CASE, OTHER
from tests.app.runs.history.pasts import nights_at
from tests.golden.folders import unpack


def test_recent_runs_and_what_is_being_measured_are_opened_by_their_rows(
    qtbot: QtBot, tmp_path: Path
) -> None:
    page = StartPage(lambda: tmp_path)
    qtbot.addWidget(page)

    def row(name: str) -> QPushButton | None:
        """By what a screen reader calls it."""
        buttons = (b for b in page.findChildren(QPushButton) if b.isVisible())
        return next((b for b in buttons if b.accessibleName() == f"open {name}"), None)

    def opened(name: str) -> Path:
        qtbot.waitUntil(lambda: row(name) is not None, timeout=10_000)
        with qtbot.waitSignal(page.open_asked) as blocker:
            if (button := row(name)) is not None:
                button.click()
        return Path(blocker.args[0])

    page.show()
    page.show_recent([tmp_path / "one", tmp_path / "two"])
    assert opened("two") == tmp_path / "two"
    new_run(tmp_path / "monday", [OTHER]).close()
    with new_run(tmp_path / "tuesday", [OTHER]):
        assert running_sweeps(tmp_path) == ((tmp_path / "tuesday").resolve(),)
        page.look()
        assert opened("tuesday") == (tmp_path / "tuesday").resolve()
    page.look()
    assert row("tuesday") is None and running_sweeps(tmp_path / "none") == ()


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

    def legend() -> list[str]:
        return [entry.text for entry in view.legend._entries]

    qtbot.waitUntil(lambda: legend() == ["slower from this run on"], timeout=60_000)
    p50 = figures_of(view)[0]
    (change,) = p50.figure.references
    assert (change.value, change.tone) == (5.5, "error")
    before, after = (s.marks[0].y for s in p50.figure.series if s.name == "level")
    assert after / before == pytest.approx(1.3, rel=0.02)
    header, rows = view.table()
    value, percentile = header.index("value_us"), header.index("percentile")
    values = [row[value] for row in rows if row[percentile] == "p50"]
    assert values == pytest.approx([100.0] * 6 + [130.0] * 6, rel=0.03)  # with noise
    window.table.select([OTHER.case_id])
    qtbot.waitUntil(lambda: legend() == [], timeout=20_000)
    assert view.table()[1][0][value] == pytest.approx(200.0, rel=0.03)


LEGEND = "another program's clock, imported)"


def test_an_imported_run_is_under_its_own_clock_and_ranked_by_nothing(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    open_run(window, qtbot, unpack("imported", tmp_path))
    wait_for_summaries(window, qtbot)
    assert set(statuses(window)) == {"imported"}
    assert window.progress.bar.format() == "imported", "no process is to tell anything of it"
    qtbot.waitUntil(lambda: window.badge.headline.startswith("imported: all "))
    series = seen(window).series
    assert {legend_text(case).partition(" (")[2] for case in series} == {LEGEND}
    assert not ranked(series)


BUSY = diagnostic("cpu_oversubscribed", load_1min=9.0, cores=2)
CASES = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in range(1, 15))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Fourteen cases of one round: three were warned of, one gave wrong outputs."""
    warned = {place: [BUSY] for place in range(3)}
    return measured_run(tmp_path / "run", CASES, warned=warned, statuses={5: "wrong_output"})


def test_the_badge_says_what_is_wrong_and_each_line_finds_its_cases(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    open_run(window, qtbot, run)
    wait_for_summaries(window, qtbot)

    badge, busy = window.badge, f"Show: {rendering.title(BUSY)}: 3 of 14 cases"

    def links() -> dict[str, QToolButton]:
        badge.open()
        return {link.accessibleName(): link for link in badge.links}

    qtbot.waitUntil(lambda: busy in links(), timeout=30_000)
    assert badge.text().startswith("wrong output: 1 of 14 cases"), "the gravest first"
    assert badge.groups[0].cause == "Failed cases"
    (group,) = (entry for entry in badge.groups if entry.cause == "Disturbed machine")
    assert group.action == one_line(rendering.action(BUSY))
    QTest.mouseClick(links()[busy], Qt.MouseButton.LeftButton)
    assert not badge.panel.isVisible()
    assert window.table.filter.rowCount() == 3
    for key in ("ranking", "trends", "matrix", "summary"):
        keys = {entry.key for entry in window.views.by_key[key].series}
        assert keys == {case.case_id for case in CASES[:3]}, "the filter holds for every view"
    window.table.filter_by("")
    assert window.table.filter.rowCount() == len(window.views.by_key["ranking"].series) == 14
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
