"""Cold starts as columns: exact ranks, and nothing that so few processes can't bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.column import Row
from app.cases.jobs import PHASES, ColdStart, cold_start_subject_of
from app.cases.scenario import Scenario
from app.columns.overhead import cold_columns, spread_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, manifest_of

SUBJECT = cold_start_subject_of(CASE).case_id


def started(number: int, ms: float, **values: object) -> ColdStart:
    times = dict(zip(PHASES, (ms, 2 * ms, 3 * ms, 4 * ms), strict=True))
    return replace(ColdStart(SUBJECT, number, times), **values)  # type: ignore[arg-type]


def columns(folder: Path, *lines: ColdStart, case: Case = CASE) -> Row:
    with RunFolder.create(folder, manifest_of()) as run:
        run.begin({"host": "testhost"})
        for line in lines:
            run.record(line)
    return cold_columns(read_run(folder), case)


def test_of_nine_the_median_is_the_fifth_within_the_second_and_the_eighth() -> None:
    """Binomial(9, 1/2): P(B < 2) = P(B >= 8) = 10/512, the last below 2.5 %."""
    spread = spread_of([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0])
    assert spread.interval is not None
    assert (spread.p50_ms, spread.interval.low, spread.interval.high) == (5.0, 2.0, 8.0)
    assert spread.max_ms == 9.0


def test_five_bound_no_median() -> None:
    assert spread_of([5.3, 4.04]).p50_ms == pytest.approx(4.67), "the mean of the two in the middle"
    assert spread_of([1.0] * 5).interval is None


def test_the_total_is_the_sum_of_a_process_and_not_of_medians(tmp_path: Path) -> None:
    first, two = started(0, 1.0), started(1, 2.0)
    two = replace(two, phases_ms={**two.phases_ms, "compile": 100.0})
    row = columns(tmp_path / "run", first, two, started(2, 3.0))
    assert row["cold_processes"] == 3
    assert row["cold_compile_p50_ms"] == 9.0
    assert (row["cold_total_p50_ms"], row["cold_total_max_ms"]) == (30.0, 114.0)
    assert "cold_total_p50_ci_low_ms" not in row


def test_cases_that_differ_in_their_later_runs_alone_share_them(tmp_path: Path) -> None:
    paced_case = replace(CASE, scenario=Scenario("paced", 20.0))
    assert columns(tmp_path / "run", started(0, 1.0), case=paced_case)["cold_processes"] == 1
    other = replace(CASE, threads=2)
    assert cold_columns(read_run(tmp_path / "run"), other) == {}


@pytest.mark.parametrize(
    ("kept", "told"),
    [((None, None), "warm"), ((0.0, 0.01), "dropped"), ((0.0, 0.34), "up to 34% kept")],
)
def test_dropped_is_said_only_where_it_was_seen(
    tmp_path: Path, kept: tuple[float | None, float | None], told: str
) -> None:
    lines = [started(number, 1.0, kept_share=share) for number, share in enumerate(kept)]
    assert columns(tmp_path / "run", *lines)["cold_page_cache"] == told


def test_a_process_that_gave_no_answer_is_told_and_not_counted(tmp_path: Path) -> None:
    row = columns(tmp_path / "run", started(0, 1.0), ColdStart(SUBJECT, 1, reason="it\ncrashed"))
    assert (row["cold_processes"], row["cold_missing_reason"]) == (1, "it crashed")
