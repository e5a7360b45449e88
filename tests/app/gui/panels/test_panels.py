from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Standing
from app.cases.case import Case
from app.gui.batch import LogPanel, QueuePanel
from app.gui.launch import RunControl, SweepQueue
from app.gui.panels.progress import ProgressLine
from app.plan.plan import parse_plan
from app.run_folder.live_status import Live, LiveFile
from app.runs.following.reader import RunReader
from app.runs.following.state import RunState
from app.stats.quantiles import needed_samples
from tests.app.gui.runs import new_run

CASE = Case("cnn_tiny", "fake")


@pytest.fixture
def state(tmp_path: Path) -> RunState:
    """A run whose second round of four is in flight."""
    live = Live(
        "measuring", rounds_total=4, rounds_done=1, case_id=CASE.case_id, round=1,
        phase="measure", iterations=100, p50_us=24.123, eta_s=200.0,
    )  # fmt: skip
    with new_run(tmp_path / "run", [CASE], rounds=4) as folder:
        LiveFile(folder).write(live, always=True)
        with closing(RunReader(tmp_path / "run")) as reader:
            run_state = reader.poll()
    assert run_state is not None
    return run_state


@pytest.fixture
def panel(qtbot: QtBot) -> ProgressLine:
    progress = ProgressLine()
    qtbot.addWidget(progress)
    progress.resize(1200, 90)
    progress.show()
    return progress


def test_progress_tells_what_p99_still_needs(panel: ProgressLine, state: RunState) -> None:
    panel.show_run(state)
    told = {
        "case": "cnn_tiny · fake", "phase": "measuring", "rounds": "2 of 4", "eta": "3 min 20 s",
        "missing": f"{needed_samples(0.99) - 100} samples",
    }  # fmt: skip
    assert {key: panel.values[key].text() for key in told} == told
    assert panel.bar.value() == 1 and panel.bar.maximum() == 4
    panel.show_run(replace(state, samples_in_flight=100_000))
    assert panel.values["missing"].text() == "3 more rounds for an interval"


END, STOPPED = {"state": "finished"}, {"state": "stopped", "exit_code": 1}
FULL, BROKEN = (f"run: {os.strerror(code)}" for code in (errno.ENOSPC, errno.EIO))


@pytest.mark.parametrize(
    ("request_made", "live_values", "statuses", "told"),
    [
        ("", {}, ("measuring",), ("", "", None)),
        ("paused", {}, ("measuring",), ("PAUSING", "after this round", None)),
        ("", {"state": "paused"}, ("measuring",), ("PAUSED", "paused", "warning")),
        ("stopping", {}, ("measuring",), ("STOPPING", "", None)),
        (None, {}, ("measuring",), ("INTERRUPTED", "", None)),
        (None, END, ("ok", "partial"), ("FINISHED", "finished", "ok")),
        (None, END, ("ok", "wrong_output"), ("FINISHED", "1 of 2 cases failed", "error")),
        (None, END, ("ok", "cancelled"), ("FINISHED", "1 not measured", "warning")),
        (None, END, ("unavailable",), ("FAILED", "nothing", None)),
        (None, {**STOPPED, "exit_code": 130}, ("ok",), ("STOPPED", "resumed", "warning")),
        (None, STOPPED, ("ok",), ("BROKEN OFF", "log", "error")),
        (None, {**STOPPED, "disk_error": FULL}, ("ok",), ("DISK FULL", FULL, "error")),
        (None, {**STOPPED, "disk_error": BROKEN}, ("ok",), ("DISK ERROR", BROKEN, "error")),
    ],
)
def test_word_bar_and_tone_say_at_a_glance_how_a_run_stands(
    panel: ProgressLine,
    state: RunState,
    request_made: str | None,
    live_values: dict[str, Any],
    statuses: Sequence[Standing],
    told: tuple[str, str, str | None],
) -> None:
    """A request of none: the process has ended."""
    assert state.live is not None
    series = tuple(replace(state.series[0], status=status) for status in statuses)
    live, alive = replace(state.live, **live_values), request_made is not None
    panel.show_run(replace(state, alive=alive, live=live, series=series), request_made or "")
    word, bar, tone = told
    assert (panel.word.text() if panel.word.isVisible() else "") == word
    assert bar in panel.bar.format() and tone in (None, panel.bar.property("tone"))
    assert (panel.values["eta"].text() == "3 min 20 s") == (alive and not word)


def test_exports_are_counted_and_their_time_is_no_promise(
    panel: ProgressLine, state: RunState
) -> None:
    panel.show_start()
    assert panel.bar.maximum() == 0, "it moves before anything is known"
    live = Live("exporting", exports_total=3, exporting=("mlp",), rounds_total=4, eta_s=12.0)
    panel.show_run(replace(state, alive=True, live=live))
    assert panel.bar.maximum() == 0 and panel.bar.format() == "0 of 3 exports, exporting"
    assert panel.values["phase"].text() == "exporting 1 of 3"
    assert panel.values["eta"].text() == "12 s or more"
    export_live = replace(live, exports_done=1, eta_s=20.0)
    panel.show_run(replace(state, alive=True, live=export_live))
    assert (panel.bar.value(), panel.bar.maximum()) == (1, 3)
    assert panel.values["eta"].text() == "20 s"


def test_the_log_follows_its_file_without_its_colours(qtbot: QtBot, tmp_path: Path) -> None:
    panel = LogPanel()
    qtbot.addWidget(panel)
    file = tmp_path / "run.log"
    panel.follow(file)
    for content in (b"", b"\x1b[32mexported\x1b[0m cnn_tiny\n", b"round 1\n", b""):
        panel.read_on()
        with file.open("ab") as log:
            log.write(content)
    panel.read_on()
    assert panel.toPlainText() == "exported cnn_tiny\nround 1\n"


def test_the_queue_can_be_shortened(qtbot: QtBot, tmp_path: Path) -> None:
    queue = SweepQueue()
    panel = QueuePanel(RunControl(queue, tmp_path))
    qtbot.addWidget(panel)
    for name in ("a", "b", "c"):
        queue.add(parse_plan({"name": name, "sweeps": [{"models": ["mlp"]}]}, "test"))
    panel.list.setCurrentRow(2)
    QTest.mouseClick(panel.remove, Qt.MouseButton.LeftButton)
    assert [plan.name for plan in queue.plans] == ["a", "b"]
    queue.hold()
    assert queue.take() is None
    assert "held" in panel.note.text()
