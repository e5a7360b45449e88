"""What a row states of its sureness: bounds, rounds that are lacking, slow rounds, late runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.precision import missing_text
from app.analysis.columns.rows import Rows
from app.cases.column import Row
from app.cases.scenario import Scenario
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.required_rounds import rounds_needed
from app.stats.verdict import smallest_change_between
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, measured_run, record

PACED = replace(CASE, scenario=Scenario("paced", 20.0))


def rows_of(path: Path, rounds: Sequence[Sequence[float]]) -> list[Row]:
    """Of CASE and PACED, both with these rounds."""
    return Rows().of(measured_run(path, (CASE, rounds, {}), (PACED, rounds, {})))


def drawn(rounds: int, runs: int) -> list[list[float]]:
    rng = np.random.default_rng(1)
    return [
        (100.0 * np.exp(0.01 * rng.standard_normal() + 0.05 * rng.standard_normal(runs)))
        .round(3)
        .tolist()
        for _ in range(rounds)
    ]


def test_a_promise_lies_beyond_the_figure_and_a_paced_row_has_one_too(tmp_path: Path) -> None:
    for row in rows_of(tmp_path / "run", drawn(6, 4000)):
        for name in ("p90", "p99"):
            bound = row[f"latency_{name}_upper_bound_us"]
            high = row[f"latency_{name}_ci_high_us"]
            assert isinstance(bound, float) and isinstance(high, float) and bound > high
        assert row["upper_bound_missing_reason"] is None


def test_too_few_rounds_promise_nothing_and_mlperf_counts_samples_only(tmp_path: Path) -> None:
    closed_row, paced_row = rows_of(tmp_path / "run", [range(1, 51), range(51, 101)])
    assert closed_row["latency_p90_upper_bound_us"] is None
    assert closed_row["upper_bound_missing_reason"] == "p90: 2 of 5 rounds; p99: 2 of 5 rounds"
    # P(B <= 3) is 0.78 % and P(B <= 4) 2.4 %: three of 100 may lie above, two are left out.
    assert closed_row["mlperf_p90_us"] == 98.0 and closed_row["mlperf_p99_us"] is None
    assert closed_row["mlperf_valid"] is False
    assert closed_row["mlperf_missing_reason"] == "p99: 100 of 662 samples"
    assert paced_row["mlperf_p90_us"] is None and paced_row["mlperf_valid"] is None


LEVELS = (100.0, 104.0, 97.0, 110.0)


def row_of(path: Path, rounds: int, runs: int = 3000) -> Row:
    """The row of rounds whose levels differ by some per cent."""
    rng = np.random.default_rng(8)
    latencies = [(level * (1.0 + 0.1 * rng.random(runs))).tolist() for level in LEVELS[:rounds]]
    return Rows().of(measured_run(path, (CASE, latencies, {})))[0]


def test_a_row_tells_how_many_rounds_are_needed_and_which_change_is_found(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", 4)
    # All rounds have the same shape, so their medians differ as their levels do.
    rounds, change = rounds_needed(LEVELS), smallest_change_between(LEVELS)
    assert rounds is not None and change is not None
    # Rounds that may be dependent need somewhat more than these, which are independent.
    counts = {name: int(row[f"required_rounds_{name}"] or 0) for name in ("p50", "p99")}
    assert all(rounds <= count <= 1.5 * rounds for count in counts.values())
    assert row["detectable_slowdown_p50"] == pytest.approx(change, rel=0.05)
    more = int(row["required_rounds_p99"] or 0) - 4
    assert missing_text(row, 12_000) == f"{more} more rounds for ±5 %"


COUNTS: Row = {"iterations": 5000, "effective_samples": 5000}


@pytest.mark.parametrize(
    ("row", "runs", "text"),
    [
        ({}, 184, "184 samples"),
        ({"iterations": 184, "effective_samples": 184}, 300, "68 samples"),
        ({"iterations": 184, "effective_samples": 92}, 300, "68 samples"),
        ({}, 400, "3 more rounds for an interval"),
        (COUNTS | {"rounds": 2}, 5000, "1 more round for an interval"),
        (COUNTS | {"rounds": 4}, 5000, "longer rounds"),
        (COUNTS | {"rounds": 4, "required_rounds_p99": 10}, 5000, "6 more rounds for ±5 %"),
        (COUNTS | {"rounds": 12, "required_rounds_p99": 10}, 9000, "nothing"),
    ],
)
def test_samples_are_lacking_and_then_rounds(row: Row, runs: int, text: str) -> None:
    assert missing_text(row, runs) == text


BEGUN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def round_figures_row_of(
    path: Path, levels: list[float], gap_s: float | None = None, clock: str = "wall"
) -> Row:
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
    row = round_figures_row_of(
        tmp_path / "run", [100.0, 101.0, 99.0, 300.0, 100.5, 99.5, 100.0, 101.0]
    )
    assert row["latency_p50_us"] == pytest.approx(101.0, rel=0.01)
    assert row["slowest_round_p50_us"] == pytest.approx(301.5, rel=0.01)
    assert row["slowest_round_p99_us"] == pytest.approx(303.0, rel=0.01)
    assert row["unseen_mode_fraction"] == pytest.approx(1 - 0.05 ** (1 / 8))


def test_rounds_that_drift_are_marked_with_their_correlation(tmp_path: Path) -> None:
    levels = [100.0 + 2.0 * number for number in range(10)]
    row = round_figures_row_of(tmp_path / "run", levels, gap_s=30.0)
    assert str(row["ci_flags"]).split() == ["rounds_correlated"]
    assert "rounds_correlated" in str(row["warning_codes"]).split(";")
    assert row["round_correlation_p50"] == pytest.approx(0.7 + 0.1, abs=0.02)
    assert row["rounds_span_s"] == 270.0


def test_rounds_of_one_minute_are_marked_but_of_a_simulated_clock(tmp_path: Path) -> None:
    levels = [100.0, 102.0, 99.0, 101.0, 98.0, 102.0, 100.0, 99.0]
    near = round_figures_row_of(tmp_path / "near", levels, gap_s=5.0)
    assert (near["ci_flags"], near["rounds_span_s"]) == ("rounds_close_in_time", 35.0)
    for name, gap_s, clock in (("spread", 20.0, "wall"), ("simulated", 5.0, "simulated")):
        assert round_figures_row_of(tmp_path / name, levels, gap_s, clock)["ci_flags"] is None
    assert round_figures_row_of(tmp_path / "unknown", levels)["rounds_span_s"] is None


def late_row_of(path: Path, rounds: Sequence[Sequence[float]], deadline_us: float | None) -> Row:
    (row,) = Rows().of(measured_run(path, (CASE, rounds, {"warmup": 2}), deadline_us=deadline_us))
    return row


def test_the_share_is_of_all_measured_runs_and_warm_up_is_none_of_them(tmp_path: Path) -> None:
    rounds = [[50.0] * 98 + [120.0, 150.0], [50.0] * 300, [50.0] * 99 + [101.0]]
    row = late_row_of(tmp_path / "run", rounds, 100.0)
    assert row["deadline_us"] == 100.0
    assert row["deadline_misses"] == 3
    assert row["deadline_miss_rate"] == pytest.approx(3 / 500)
    low, high = row["deadline_miss_rate_ci_low"], row["deadline_miss_rate_ci_high"]
    assert isinstance(low, float) and isinstance(high, float)
    assert 0 < low < 3 / 500 < high < 1
    assert row["deadline_ci_missing_reason"] is None


def test_two_rounds_say_why_there_is_no_interval_and_what_nobody_asked_for_is_empty(
    tmp_path: Path,
) -> None:
    row = late_row_of(tmp_path / "run", [[50.0] * 9 + [120.0]] * 2, 100.0)
    assert row["deadline_miss_rate"] == pytest.approx(0.1)
    assert row["deadline_miss_rate_ci_high"] is None
    assert row["deadline_ci_missing_reason"] == "2 of 3 rounds"
    row = late_row_of(tmp_path / "other", [[50.0] * 10] * 3, None)
    names = ("deadline_us", "deadline_miss_rate", "deadline_ci_missing_reason")
    assert [row[name] for name in names] == [None] * 3
