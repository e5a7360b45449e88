"""The state that the window shows is that of what measures, and of what lies in the folder."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.columns.rows import Rows
from app.gui.plots.style import legend_text
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from app.insights.quality import quality_of
from app.insights.rules import find_insights
from app.runs.reader import read_run
from app.runs.verify import verify
from tests.app.gui.runs import fake_plan, measured_run, tiny_model
from tests.app.gui.windows import TIMEOUT_MS, open_run, run_plan, seen, statuses
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS


@pytest.mark.rare
def test_a_killed_process_is_shown_as_interrupted_and_resumed_as_running(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=20))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    assert window.control.child is not None
    os.killpg(window.control.child.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.progress.word.text() == "INTERRUPTED", timeout=TIMEOUT_MS)
    qtbot.waitUntil(window.actions_by_key["resume_run"].isEnabled, timeout=TIMEOUT_MS)
    assert window.control.state == "idle"
    assert "measuring" not in statuses(window)

    window.actions_by_key["resume_run"].trigger()
    words = {window.progress.word.text()}
    window.feed.beat.connect(lambda: words.add(window.progress.word.text()))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    assert words == {""}, "no word of the process before while another one runs"
    phase = window.progress.values["phase"]
    qtbot.waitUntil(lambda: phase.text() == "measuring", timeout=TIMEOUT_MS)
    window.actions_by_key["stop"].trigger()
    qtbot.waitUntil(lambda: window.progress.word.text() == "STOPPED", timeout=TIMEOUT_MS)


CASES = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in range(1, 9))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Eight cases of three rounds, one of which jumps between two levels."""
    rng = np.random.default_rng(41)

    def latencies_us(place: int, _number: int) -> list[float]:
        draw = TWO_LEVELS["1.36 times, even, 5 %"] if place == 6 else ONE_LEVEL["normal"]
        return list(map(float, draw(rng, 1200)))

    return measured_run(tmp_path / "run", CASES, latencies_us, rounds=3)


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


PAIR = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in (1, 2))


@pytest.mark.parametrize("kind", ["short", "noise"])
def test_broken_samples_are_told_of_the_run_and_drawn_at_their_case(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, kind: str
) -> None:
    """A cut file and one with noise in it were once drawn as if nothing was wrong."""
    sound_run = measured_run(tmp_path / "sound_run", PAIR)
    (path,) = (sound_run / "samples").glob(f"{PAIR[0].case_id}.*")
    whole = path.read_bytes()
    path.write_bytes(whole[:1001] if kind == "short" else b"\xff" * 400 + whole[400:])
    findings = tuple(entry for entry in verify(sound_run).findings if not entry.harmless)
    assert findings, "verify sees it"
    open_run(window, qtbot, sound_run)
    qtbot.waitUntil(lambda: any(entry.damage for entry in seen(window).series), timeout=60_000)
    state = seen(window)
    assert [problem.cause for problem in state.damaged] == [
        f"{f.file} {f.problem}" for f in findings
    ]
    assert window.badge.groups[0].cause == "Damaged files"
    assert path.name in window.badge.headline
    broken_series, sound = (state.of(case.case_id) for case in PAIR)
    assert broken_series is not None and sound is not None
    assert quality_of(broken_series) == "doubted" and "damaged" in legend_text(broken_series)
    assert not sound.damage
