"""Damage is told where it is, by the code of `verify`: of the run, and at its case."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.columns.rows import Rows
from app.gui.launch.own_command import damaged_cases
from app.gui.plots.style import legend_text
from app.gui.window import MainWindow
from app.insights.quality import quality_of
from app.run_folder.live_status import Live, LiveFile
from app.run_folder.table import write_tables
from app.runs.reader import read_run
from app.runs.verify import verify
from tests.app.gui.runs import new_run, record_round, records, sample_path
from tests.app.gui.windows import open_run, seen

CASES = tuple(Case("cnn_tiny", "fake", threads=threads) for threads in (1, 2))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two sound cases of one round, ended."""
    with new_run(tmp_path / "run", CASES) as folder:
        for case in CASES:
            record_round(folder, case, 0, records([50.0 + k % 7 for k in range(400)]))
        LiveFile(folder).write(Live("finished", rounds_total=2, rounds_done=2), always=True)
        write_tables(folder, Rows().of(read_run(folder.path)))
    return tmp_path / "run"


@pytest.mark.parametrize("kind", ["short", "noise"])
def test_broken_samples_are_told_of_the_run_and_drawn_at_their_case(
    window: MainWindow, qtbot: QtBot, run: Path, kind: str
) -> None:
    """A cut file and one with noise in it were once drawn as if nothing was wrong."""
    (path,) = (run / "samples").glob(f"{CASES[0].case_id}.*")
    whole = path.read_bytes()
    path.write_bytes(whole[:1001] if kind == "short" else b"\xff" * 400 + whole[400:])
    findings = tuple(entry for entry in verify(run).findings if not entry.harmless)
    assert findings, "verify sees it"
    open_run(window, qtbot, run)
    qtbot.waitUntil(lambda: any(entry.damage for entry in seen(window).series), timeout=60_000)
    state = seen(window)
    assert [problem.cause for problem in state.damaged] == [
        f"{f.file} {f.problem}" for f in findings
    ]
    assert window.badge.groups[0].cause == "Damaged files"
    assert path.name in window.badge.headline
    broken_series, sound = (state.of(case.case_id) for case in CASES)
    assert broken_series is not None and sound is not None
    assert quality_of(broken_series) == "doubted" and "damaged" in legend_text(broken_series)
    assert not sound.damage


def test_a_sound_run_says_nothing_of_damage(window: MainWindow, qtbot: QtBot, run: Path) -> None:
    open_run(window, qtbot, run)
    with qtbot.waitSignal(window.feed.damage.found, timeout=60_000) as blocker:
        pass
    assert blocker.args[1] == ()
    assert not seen(window).damaged
    assert all(group.cause != "Damaged files" for group in window.badge.groups)


def test_lost_samples_are_told_by_their_cases(run: Path) -> None:
    shutil.rmtree(run / "samples")
    (run / "samples").mkdir()
    damage = damaged_cases(verify(run).findings)
    assert damage.keys() == {case.case_id for case in CASES}


def test_the_samples_of_a_case_are_where_the_findings_look(tmp_path: Path) -> None:
    with new_run(tmp_path / "named", CASES[:1]) as folder:
        assert sample_path(folder, CASES[0], 3).name.partition(".")[0] == CASES[0].case_id
