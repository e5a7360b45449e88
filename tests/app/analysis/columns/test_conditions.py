"""Pauses, sustained rounds, shapes and cold starts as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.family import CaseData
from app.analysis.columns.load import shape_runs
from app.analysis.columns.overhead import ColdStarts, spread_of
from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row
from app.cases.jobs import PHASES, ColdStart, cold_start_subject_of
from app.cases.round import MEASURED, RECORD, WARMUP, RoundResult
from app.cases.scenario import Condition, Scenario, WaitPolicy
from app.cases.telemetry import Reading
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.runs.reader import read_run
from exporters.diagnostics import codes, diagnostic
from tests.app.analysis.columns.filled import FIRST, MODEL, cases_asked_for, fill_asked_for
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

SLEEPING = replace(CASE, model="net", scenario=Scenario.parse("paced:1ms"), wait_policy="sleep")


def paced_records(late_us: float, lanes: int = 1) -> np.ndarray:
    """Runs of 100 us in each lane, a gap of 1 ms that is `late_us` longer, its first a warm-up."""
    per_lane = []
    for lane in range(lanes):
        records = np.zeros(400, RECORD)
        start_ns = 1e3 * ((1100 + late_us) * np.arange(400) + 50 * lane)
        records["started_ns"], records["finished_ns"] = start_ns, start_ns + 100_000
        records["scheduled_ns"] = start_ns - 1e3 * late_us
        records["phase"], records["lane"] = MEASURED, lane
        records["phase"][:1] = WARMUP
        per_lane.append(records)
    all_records = np.concatenate(per_lane)
    return all_records[np.argsort(all_records["started_ns"], kind="stable")]


def row_of(path: Path, records: np.ndarray, policy: WaitPolicy = "sleep") -> Row:
    case = replace(SLEEPING, wait_policy=policy)
    with RunFolder.create(path / "run", manifest_of((case,), 1)) as folder:
        folder.begin(ENVIRONMENT)
        folder.record(ModelExported(case.model, case.precision, MODEL))
        (folder.samples / "one.bin").write_bytes(records.tobytes())
        counting = int(np.sum(records["phase"] == MEASURED))
        lanes = int(records["lane"].max()) + 1
        result = RoundResult(case.case_id, 0, "ok", samples="one.bin", iterations=counting)
        folder.record(replace(result, concurrency=lanes))
    return Rows().of(read_run(path / "run"))[0]


@pytest.mark.parametrize(("late_us", "lanes"), [(150.0, 2), (80.0, 1)])
def test_a_gap_that_was_longer_than_asked_is_told_and_warned_of_from_a_tenth_on(
    tmp_path: Path, late_us: float, lanes: int
) -> None:
    row = row_of(tmp_path, paced_records(late_us, lanes))
    gap_us = row["achieved_gap_p50_us"]
    assert isinstance(gap_us, float) and gap_us == pytest.approx(1000.0 + late_us)
    warning = diagnostic(
        "pause_not_met", actual_us=gap_us, requested_us=1000.0, wait_policy="sleep"
    )
    assert (warning in diagnostics_of(row)) == (late_us > 100.0)
    assert ("pause_not_met" in codes(diagnostics_of(row))) == (late_us > 100.0)
    assert (row["input_sets"], row["preset"]) == ("one set, cache-hot", "quick")


SUSTAINED = replace(CASE, condition=Condition.parse("sustained:2s"))


FAST, SLOW = [1000.0] * 1000, [1500.0] * 667
"""A second of runs each."""


def sustained_row_of(path: Path, *rounds: list[float], readings: Sequence[Reading] = ()) -> Row:
    with RunFolder.create(path, manifest_of((SUSTAINED,), len(rounds))) as folder:
        folder.begin(ENVIRONMENT)
        for number, latencies in enumerate(rounds):
            clocks = (3000.0, 2000.0 + 100.0 * number)
            names = ("sustained_first_clock_mhz", "sustained_last_clock_mhz")
            facts = dict(zip(names, clocks, strict=True))
            record(folder, SUSTAINED, number, latencies, facts=facts)
            if readings:
                folder.record_readings(SUSTAINED.case_id, number, readings)
    (row,) = Rows().of(read_run(path))
    return row


def test_the_end_is_told_over_the_beginning_as_medians_of_rounds(tmp_path: Path) -> None:
    row = sustained_row_of(tmp_path / "run", FAST + SLOW, FAST + SLOW, FAST + FAST)
    assert row["sustained_window"] == "first and last tenth (0.2 s), for want of two minutes"
    assert (row["sustained_first_p50_us"], row["sustained_last_p50_us"]) == (1000.0, 1500.0)
    assert row["sustained_p50_ratio"] == 1.5
    assert row["sustained_slowdown_after_s"] == pytest.approx(1.0, abs=0.1)
    assert (row["sustained_first_clock_mhz"], row["sustained_last_clock_mhz"]) == (3000.0, 2100.0)


def test_one_slow_round_of_three_is_no_throttling_and_one_cut_short_is_warned_of(
    tmp_path: Path,
) -> None:
    row = sustained_row_of(tmp_path / "run", FAST + SLOW, FAST + FAST, FAST)
    assert (row["sustained_p50_ratio"], row["sustained_slowdown_after_s"]) == (1.0, None)
    assert diagnostic("rounds_cut_short", rounds=1, seconds=2.0) in diagnostics_of(row)


def test_a_gpus_clock_is_the_one_that_was_read_at_both_ends(tmp_path: Path) -> None:
    readings = [
        Reading(int(at_s * 1e9), "gpu:0", clock_mhz=mhz, temperature_c=heat)
        for at_s, mhz, heat in ((0.1, 1800.0, 40.0), (1.0, 1700.0, 60.0), (1.95, 1200.0, 83.0))
    ]
    row = sustained_row_of(tmp_path / "run", FAST + SLOW, readings=readings)
    assert (row["sustained_first_clock_mhz"], row["sustained_last_clock_mhz"]) == (1800.0, 1200.0)
    assert (row["sustained_first_temperature_c"], row["sustained_last_temperature_c"]) == (
        40.0,
        83.0,
    )


SHAPED = 3
"""Its place among the cases."""


def test_each_shape_is_told_by_itself_and_latency_is_that_of_shapes_that_were_seen(
    tmp_path: Path,
) -> None:
    plain = Case("net", "ort-cpu", axes={"batch": 4})
    with RunFolder.create(tmp_path / "run", manifest_of(cases_asked_for(plain), 1)) as folder:
        fill_asked_for(folder, plain, 1, 400.0)
    run = read_run(tmp_path / "run")
    small, large = shape_runs(run, run.cases[SHAPED])
    assert (small.sizes, large.sizes) == ("batch=1", "batch=8")
    assert (len(small.first_us), len(large.first_us)) == (0, FIRST)
    assert (small.share, large.share) == (0.5, 0.5)
    assert small.ratios == ()
    assert large.ratios == pytest.approx((5.0,))
    row = Rows().of(run)[SHAPED]
    assert row["latency_max_us"] == pytest.approx(800.0)
    assert row["first_run_p50_us"] == row["first_run_p99_us"] == pytest.approx(4000.0)
    assert row["first_run_slowdown"] == pytest.approx(5.0)
    assert (row["outliers"], row["batch_size"]) == (0, None)


SUBJECT = cold_start_subject_of(CASE).case_id


def started(number: int, ms: float, **values: object) -> ColdStart:
    times = dict(zip(PHASES, (ms, 2 * ms, 3 * ms, 4 * ms), strict=True))
    return replace(ColdStart(SUBJECT, number, times), **values)  # type: ignore[arg-type]


def cold_columns(folder: Path, case: Case) -> Row:
    run = read_run(folder)
    return ColdStarts.fill(CaseData(run, case, run.manifest.requested_plan), {})


def columns(folder: Path, *lines: ColdStart, case: Case = CASE) -> Row:
    with RunFolder.create(folder, manifest_of()) as run:
        run.begin({"host": "testhost"})
        for line in lines:
            run.record(line)
    return cold_columns(folder, case)


def test_of_nine_the_median_is_the_fifth_within_the_second_and_the_eighth() -> None:
    """Binomial(9, 1/2): P(B < 2) = P(B >= 8) = 10/512, the last below 2.5 %. Five bound none."""
    spread = spread_of([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0])
    assert spread.interval is not None
    assert (spread.p50_ms, spread.interval.low, spread.interval.high) == (5.0, 2.0, 8.0)
    assert spread.max_ms == 9.0
    assert spread_of([5.3, 4.04]).p50_ms == pytest.approx(4.67), "the mean of the two in the middle"
    assert spread_of([1.0] * 5).interval is None


def test_the_total_is_the_sum_of_a_process_and_not_of_medians(tmp_path: Path) -> None:
    """Cases that differ in their later runs alone share it; one without an answer doesn't count."""
    first, two, failed = started(0, 1.0), started(1, 2.0), ColdStart(SUBJECT, 3, reason="it\nfell")
    two = replace(two, phases_ms={**two.phases_ms, "compile": 100.0})
    paced = replace(CASE, scenario=Scenario("paced", 20.0))
    row = columns(tmp_path / "run", first, two, started(2, 3.0), failed, case=paced)
    assert (row["cold_processes"], row["cold_missing_reason"]) == (3, "it fell")
    assert row["cold_compile_p50_ms"] == 9.0
    assert (row["cold_total_p50_ms"], row["cold_total_max_ms"]) == (30.0, 114.0)
    assert "cold_total_p50_ci_low_ms" not in row
    assert cold_columns(tmp_path / "run", replace(CASE, threads=2)) == {}


@pytest.mark.parametrize(
    ("kept", "told"),
    [((None, None), "warm"), ((0.0, 0.01), "dropped"), ((0.0, 0.34), "up to 34% kept")],
)
def test_dropped_is_said_only_where_it_was_seen(
    tmp_path: Path, kept: tuple[float | None, float | None], told: str
) -> None:
    lines = [started(number, 1.0, kept_share=share) for number, share in enumerate(kept)]
    assert columns(tmp_path / "run", *lines)["cold_page_cache"] == told
