"""Real batch processes, steered and told of, and runs whose state is told as the folder has it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QToolButton
from pytestqt.qtbot import QtBot

from app.analysis.insights.quality import quality_of
from app.cases.case import Case
from app.gui.plots.style import legend_text
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from app.plan.estimate import Estimate
from app.plan.plan import parse_plan
from app.run_folder.folder import is_being_written
from app.runs.verify import verify
from tests.app.gui.runs import fake_plan, measured_run, tiny_model
from tests.app.gui.synthetic import summary_of
from tests.app.gui.windows import TIMEOUT_MS, open_run, run_plan, seen, statuses, wait_for_summaries
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS


def test_a_sweep_run_from_the_editor_ends_as_rows_with_summaries_whose_model_can_be_opened(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model(tmp_path / "tiny.onnx")
    data = {"models": [str(model)], "runtimes": ["ort-cpu"]}
    run_plan(window, qtbot, parse_plan({"name": "real", "rounds": 1, "sweeps": [data]}, "test"))
    qtbot.waitUntil(lambda: statuses(window) == ["ok"], timeout=TIMEOUT_MS)
    wait_for_summaries(window, qtbot)
    (series,) = seen(window).series
    assert series.runtime == "ort-cpu"
    assert summary_of(series).iterations == series.counts.sum()
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: "finished" in window.progress.bar.format(), timeout=10_000)
    window.log.read_on()
    assert "results.csv" in window.log.toPlainText()
    path = seen(window).details[series.key].model.path
    opened = {path: False}
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.pop(url.toLocalFile()))
    window.table.select([series.key])
    with qtbot.waitSignal(window.rows.failed) as blocker:
        window.rows.open_graph()
    assert not opened and path in str(blocker.args[0])


@pytest.mark.alone
def test_closing_the_window_leaves_nothing_but_the_run(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    threads, old_children = threading.active_count(), set(psutil.Process().children())
    run_plan(window, qtbot, fake_plan(tiny_model(tmp_path / "tiny.onnx"), rounds=3))
    qtbot.waitUntil(lambda: "measuring" in statuses(window), timeout=TIMEOUT_MS)
    folder, child = window.control.folder, window.control.child
    assert folder is not None and child is not None
    window.close()
    assert [process.pid for process in set(psutil.Process().children()) - old_children] == [
        child.pid
    ]
    assert is_being_written(folder)
    assert not [t for t in window.findChildren(QTimer) if t.isActive() and t.interval() > 0]
    assert threading.active_count() <= threads


def test_a_sweep_by_mistake_and_closing_with_a_queue_are_asked_about_first(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    no, yes = QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes
    answers, texts = [no, no, yes], list[str]()

    def answer(_parent: object, _title: str, text: str, *_: object) -> QMessageBox.StandardButton:
        texts.append(text)
        return answers.pop(0)

    monkeypatch.setattr(QMessageBox, "question", answer)
    plan = parse_plan({"sweeps": [{"models": ["cnn_tiny"]}]}, "test")
    window.runs.run_plan(plan, Estimate(100_000, 2, 600_000.0, 900_000.0, exact=False))
    assert "100,000 cases" in texts[0]
    assert window.control.state == "idle"
    window.control.queue.add(plan)
    assert not window.close()
    assert window.isVisible()
    assert window.close()


def test_the_first_result_is_one_click_away(window: MainWindow, qtbot: QtBot) -> None:
    window.editor.run_asked.disconnect(window.runs.run_plan)
    with qtbot.waitSignal(window.editor.run_asked, timeout=10_000) as blocker:
        window.start_page.try_button.click()
    plan, estimate = blocker.args
    assert plan.sweeps[0].runtimes == ("ort-cpu",)
    assert estimate.longest_s < 60


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

    def finding() -> QToolButton | None:
        badge.open()
        return next((link for link in badge.links if "bimodal" in link.accessibleName()), None)

    qtbot.waitUntil(lambda: finding() is not None, timeout=30_000)
    bimodal = finding()
    assert bimodal is not None
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
    run = measured_run(tmp_path / "run", PAIR)
    (path,) = (run / "samples").glob(f"{PAIR[0].case_id}.*")
    whole = path.read_bytes()
    path.write_bytes(whole[:1001] if kind == "short" else b"\xff" * 400 + whole[400:])
    findings = [f"{f.file} {f.problem}" for f in verify(run).findings if not f.harmless]
    assert findings, "verify sees it"
    open_run(window, qtbot, run)
    qtbot.waitUntil(lambda: any(entry.damage for entry in seen(window).series), timeout=60_000)
    state = seen(window)
    assert [problem.cause for problem in state.damaged] == findings
    assert window.badge.groups[0].cause == "Damaged files"
    assert path.name in window.badge.headline
    broken_series, sound = (state.of(case.case_id) for case in PAIR)
    assert broken_series is not None and sound is not None
    assert quality_of(broken_series) == "doubted" and "damaged" in legend_text(broken_series)
    assert not sound.damage
