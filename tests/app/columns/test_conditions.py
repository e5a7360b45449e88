"""The pauses that a row tells are those between its records, and a row says how it was fed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.cases.column import Row
from app.cases.round import MEASURED, RECORD, WARMUP, RoundResult
from app.cases.scenario import Scenario, WaitPolicy
from app.columns.rows import Rows
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.runs.reader import read_run
from app.workers.lanes import OneLane
from exporters.diagnostics.catalogue import codes, diagnostic
from runtimes.base import Arrays, Lane
from tests.app.columns.filled import MODEL
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of

SLEEPING = replace(CASE, model="net", scenario=Scenario.parse("paced:1ms"), wait_policy="sleep")


class Idle(Lane):
    def __init__(self) -> None:
        self.run = int

    def bind(self, inputs: Arrays) -> None: ...

    def outputs(self) -> dict[str, np.ndarray]:
        return {}

    def poison(self) -> None: ...

    def advance(self) -> None: ...


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


def gaps_us(records: np.ndarray) -> np.ndarray:
    """From the records of one lane alone: what is between a run's end and the next one's start."""
    counting = records["phase"][1:] == MEASURED
    waits_ns = records["started_ns"][1:] - records["finished_ns"][:-1]
    gaps: np.ndarray = np.sort(waits_ns[counting]) / 1e3
    return gaps


def test_a_gap_that_was_longer_than_asked_is_told_and_warned_of(tmp_path: Path) -> None:
    row = row_of(tmp_path, paced_records(late_us=150.0, lanes=2))
    assert row["achieved_gap_p50_us"] == pytest.approx(1150.0)
    actual_us = row["achieved_gap_p50_us"]
    assert isinstance(actual_us, float)
    expected = diagnostic(
        "pause_not_met", actual_us=actual_us, requested_us=1000.0, wait_policy="sleep"
    )
    assert expected in diagnostics_of(row)


def test_a_gap_that_is_off_by_less_than_a_tenth_is_told_and_not_warned_of(tmp_path: Path) -> None:
    row = row_of(tmp_path, paced_records(late_us=80.0))
    assert row["achieved_gap_p50_us"] == pytest.approx(1080.0)
    assert "pause_not_met" not in codes(diagnostics_of(row))


@pytest.mark.alone
def test_the_gaps_of_a_row_are_those_between_its_records(tmp_path: Path) -> None:
    lane = OneLane(Idle(), SLEEPING.scenario, "sleep", False, 1000.0)
    records = lane.block(0.5, 1)
    row, gaps = row_of(tmp_path, records), gaps_us(records)
    assert row["achieved_gap_p50_us"] == pytest.approx(gaps[(len(gaps) - 1) // 2], abs=0.01)
    assert isinstance(row["achieved_gap_p50_us"], float)
    assert row["achieved_gap_p50_us"] > 1000.0, "a sleeping thread is woken late"


def test_one_set_of_inputs_is_called_cache_hot_and_several_are_counted(tmp_path: Path) -> None:
    row = row_of(tmp_path, paced_records(0.0))
    assert (row["input_sets"], row["preset"]) == ("one set, cache-hot", "quick")
