"""The clock on the wall may step: it names files and dates them, and nothing is timed by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from app.run_folder import journal
from app.run_folder.folder import RunFolder
from app.run_folder.journal import DiscardedRound
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record


class ADayEarlier(datetime):
    """The clock after somebody has set it back."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> ADayEarlier:
        now = datetime.now(tz) - timedelta(days=1)
        return cls(*now.timetuple()[:6], now.microsecond, tzinfo=tz or UTC)


def test_a_run_that_is_resumed_after_the_clock_was_set_back_counts_each_round_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        record(folder, CASE, 0, [10.0] * 8)
        record(folder, OTHER, 0, status="cancelled")
        first = folder.writer
    monkeypatch.setattr(journal, "datetime", ADayEarlier)
    with RunFolder.reopen(tmp_path / "run") as folder:
        folder.begin(ENVIRONMENT)
        assert folder.writer < first, "its lines are read before those that are older"
        folder.record(DiscardedRound(CASE.case_id, 0, "damaged"))
        record(folder, CASE, 0, [20.0] * 16)
        record(folder, CASE, 1, [20.0] * 8)
        record(folder, OTHER, 0, [30.0] * 8)
    run = read_run(tmp_path / "run")
    assert not run.damaged
    assert [result.iterations for result in run.rounds_of(CASE)] == [16, 8]
    assert [result.status for result in run.rounds_of(OTHER)] == ["ok"]
