"""What the quoted figures leave out: the slowest round, modes unseen, rounds that correlate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from app.cases.column import Row
from app.columns.row_statistics import epoch_s
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

BEGUN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def row_of(path: Path, levels: list[float], gap_s: float | None = None, clock: str = "wall") -> Row:
    """The row of rounds of these levels, which began so many seconds after each other."""
    rng = np.random.default_rng(8)
    with RunFolder.create(path, manifest_of((CASE,), len(levels))) as folder:
        folder.begin(ENVIRONMENT)
        for number, level in enumerate(levels):
            latencies = level * (1.0 + 0.01 * rng.random(2500))
            start_time = BEGUN + timedelta(seconds=number * (gap_s or 0.0))
            text = "" if gap_s is None else start_time.isoformat()
            record(folder, CASE, number, latencies.tolist(), clock=clock, started_at_utc=text)
    return Rows().of(read_run(path))[0]


def test_a_rare_slow_process_is_shown_beside_the_quoted_figure(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", [100.0, 101.0, 99.0, 300.0, 100.5, 99.5, 100.0, 101.0])
    assert row["latency_p50_us"] == pytest.approx(101.0, rel=0.01)
    assert row["slowest_round_p50_us"] == pytest.approx(301.5, rel=0.01)
    assert row["slowest_round_p99_us"] == pytest.approx(303.0, rel=0.01)
    assert row["unseen_mode_fraction"] == pytest.approx(1 - 0.05 ** (1 / 8))


def test_rounds_that_drift_are_marked_with_their_correlation(tmp_path: Path) -> None:
    levels = [100.0 + 2.0 * number for number in range(10)]
    row = row_of(tmp_path / "run", levels, gap_s=30.0)
    assert str(row["ci_flags"]).split() == ["rounds_correlated"]
    assert "rounds_correlated" in str(row["warning_codes"]).split(";")
    assert row["round_correlation_p50"] == pytest.approx(0.7 + 0.1, abs=0.02)
    assert row["rounds_span_s"] == 270.0


def test_rounds_of_one_minute_are_marked(tmp_path: Path) -> None:
    levels = [100.0, 102.0, 99.0, 101.0, 98.0, 102.0, 100.0, 99.0]
    near_row = row_of(tmp_path / "near", levels, gap_s=5.0)
    assert (near_row["ci_flags"], near_row["rounds_span_s"]) == ("rounds_close_in_time", 35.0)
    assert row_of(tmp_path / "spread", levels, gap_s=20.0)["ci_flags"] is None
    assert row_of(tmp_path / "unknown", levels)["rounds_span_s"] is None


def test_a_simulated_clock_shares_no_state_of_a_machine(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", [100.0] * 4 + [101.0] * 4, gap_s=1.0, clock="simulated")
    assert "rounds_close_in_time" not in str(row["ci_flags"])


@pytest.mark.parametrize("utc", ["", "yesterday", "2026-13-01"])
def test_a_start_that_is_not_recorded_is_not_known(utc: str) -> None:
    assert epoch_s(utc) is None
    assert epoch_s("1970-01-01T00:01:00") == epoch_s("1970-01-01T01:01:00+01:00") == 60.0
