"""A sustained case's row: the rounds' medians, and the machine beside them at both ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.column import Row
from app.cases.scenario import Condition
from app.cases.telemetry import Reading
from app.columns.rows import Rows
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from exporters.codec import to_json
from exporters.diagnostics.catalogue import diagnostic
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

SUSTAINED = replace(CASE, condition=Condition.parse("sustained:2s"))
FAST, SLOW = [1000.0] * 1000, [1500.0] * 667
"""A second of runs each."""


def row_of(path: Path, *rounds: list[float], readings: list[Reading] | None = None) -> Row:
    with RunFolder.create(path, manifest_of((SUSTAINED,), len(rounds))) as folder:
        folder.begin(ENVIRONMENT)
        for number, latencies in enumerate(rounds):
            facts = {
                "sustained_first_clock_mhz": 3000.0,
                "sustained_last_clock_mhz": 2000.0 + 100.0 * number,
            }
            record(folder, SUSTAINED, number, latencies, facts=facts)
            if readings:
                lines = "".join(json.dumps(to_json(reading)) + "\n" for reading in readings)
                (path / "telemetry").mkdir(exist_ok=True)
                name = f"{SUSTAINED.case_id}.{number}.jsonl"
                (path / "telemetry" / name).write_text(lines)
    (row,) = Rows().of(read_run(path))
    return row


def test_the_end_is_told_over_the_beginning_as_medians_of_rounds(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", FAST + SLOW, FAST + SLOW, FAST + FAST)
    assert row["sustained_window"] == "first and last tenth (0.2 s), for want of two minutes"
    assert (row["sustained_first_p50_us"], row["sustained_last_p50_us"]) == (1000.0, 1500.0)
    assert row["sustained_p50_ratio"] == 1.5
    assert row["sustained_slowdown_after_s"] == pytest.approx(1.0, abs=0.1)
    assert (row["sustained_first_clock_mhz"], row["sustained_last_clock_mhz"]) == (3000.0, 2100.0)


def test_one_slow_round_of_three_is_no_throttling(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", FAST + SLOW, FAST + FAST, FAST + FAST)
    assert (row["sustained_p50_ratio"], row["sustained_slowdown_after_s"]) == (1.0, None)


def test_a_gpus_clock_is_the_one_that_was_read_at_both_ends(tmp_path: Path) -> None:
    readings = [
        Reading(int(at_s * 1e9), "gpu:0", clock_mhz=mhz, temperature_c=heat)
        for at_s, mhz, heat in ((0.1, 1800.0, 40.0), (1.0, 1700.0, 60.0), (1.95, 1200.0, 83.0))
    ]
    row = row_of(tmp_path / "run", FAST + SLOW, readings=readings)
    assert (row["sustained_first_clock_mhz"], row["sustained_last_clock_mhz"]) == (1800.0, 1200.0)
    assert (row["sustained_first_temperature_c"], row["sustained_last_temperature_c"]) == (
        40.0,
        83.0,
    )


def test_a_round_that_was_cut_short_is_warned_of(tmp_path: Path) -> None:
    row = row_of(tmp_path / "run", FAST)
    assert diagnostic("rounds_cut_short", rounds=1, seconds=2.0) in diagnostics_of(row)
