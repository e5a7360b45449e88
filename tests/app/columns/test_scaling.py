"""What several replicas serve against one: which cases are paired, and what has no figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import MEASURED, RECORD, RoundResult
from app.cases.scenario import Scenario
from app.columns.reference_cases import scaling_columns
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.intervals import round_correlation
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

ALONE = Case("mlp", "ort-cpu", axes={"batch": 4})
TWO = replace(ALONE, options={"sessions": 2})
OFFLINE = Scenario.parse("offline")
LEVELS = (100.0, 160.0, 90.0, 250.0, 120.0)
"""A machine whose rounds differ much, all cases of a round alike."""


def rows_of(path: Path, cases: Sequence[Case], write_rounds: Any) -> list[Row]:
    with RunFolder.create(path, manifest_of(cases, len(LEVELS))) as folder:
        folder.begin(ENVIRONMENT)
        write_rounds(folder)
    return Rows().of(read_run(path))


def pseudo_median(values: np.ndarray) -> float:
    """The median of the means of all pairs, each value with itself too."""
    pairs = [(a + b) / 2 for place, a in enumerate(values) for b in values[place:]]
    return float(np.median(pairs))


def test_the_efficiency_is_the_speedup_over_the_sessions(tmp_path: Path) -> None:
    slower = (1.0, 1.2, 1.1, 1.3, 1.25)

    def write_rounds(folder: RunFolder) -> None:
        for number, level in enumerate(LEVELS):
            record(folder, ALONE, number, [level] * 30)
            mine = [level * slower[number]] * 30
            record(folder, TWO, number, mine, concurrency=2)

    alone, two = rows_of(tmp_path / "run", (ALONE, TWO), write_rounds)
    log = -np.log(slower)
    assert two["scaling_baseline_case_id"] == alone["case_id"]
    assert two["replicas"] == 2.0
    # The ratio of the two quoted throughputs, each a pseudo-median of its rounds.
    alone_log = -np.log(LEVELS)
    ratio = math.exp(pseudo_median(alone_log + log) - pseudo_median(alone_log))
    assert two["speedup"] == pytest.approx(2.0 * ratio, rel=1e-5)
    assert two["scaling_efficiency"] == pytest.approx(ratio, rel=1e-5)
    # The rounds themselves differ by far more than the interval: pairs are what is counted.
    error = log.std(ddof=1) / math.sqrt(5) * round_correlation(slower).inflation
    low, high = stats.t.interval(0.95, 4, log.mean(), error)
    assert two["scaling_efficiency_ci_low"] == pytest.approx(math.exp(low), rel=1e-4)
    assert two["scaling_efficiency_ci_high"] == pytest.approx(math.exp(high), rel=1e-4)
    assert alone["scaling_efficiency"] is None


def test_offline_counts_its_blocks(tmp_path: Path) -> None:
    """Two lanes that take turns of 20 us against one of 15: 2 / 20 against 1 / 15 in a us."""
    alone, two = (replace(case, scenario=OFFLINE) for case in (ALONE, TWO))

    def write_rounds(folder: RunFolder) -> None:
        for number in range(3):
            record_block(folder, alone, number, lanes=1, run_us=15.0)
            record_block(folder, two, number, lanes=2, run_us=20.0)

    _, row = rows_of(tmp_path / "run", (alone, two), write_rounds)
    assert row["speedup"] == pytest.approx(1.5)
    assert row["scaling_efficiency"] == pytest.approx(0.75)
    assert row["scaling_efficiency_ci_low"] == pytest.approx(0.75)


def record_block(folder: RunFolder, case: Case, number: int, lanes: int, run_us: float) -> None:
    records = np.zeros(40, RECORD)
    records["phase"], records["lane"] = MEASURED, np.arange(40) % lanes
    records["started_ns"] = 5000 + np.arange(40) // lanes * run_us * 1e3
    records["finished_ns"] = records["started_ns"] + run_us * 1e3
    name = f"{case.case_id}.{number}.bin"
    (folder.samples / name).write_bytes(records.tobytes())
    folder.record(
        RoundResult(case.case_id, number, "ok", samples=name, iterations=40, concurrency=lanes)
    )


def test_two_rounds_have_an_efficiency_and_no_interval(tmp_path: Path) -> None:
    def write_rounds(folder: RunFolder) -> None:
        for number in range(2):
            record(folder, ALONE, number, [100.0] * 30)
            record(folder, TWO, number, [200.0] * 30, concurrency=2)

    _, two = rows_of(tmp_path / "run", (ALONE, TWO), write_rounds)
    assert two["scaling_efficiency"] == pytest.approx(0.5)
    assert two["scaling_efficiency_ci_low"] is None


def test_streams_and_sessions_are_both_counted_and_no_other_option(tmp_path: Path) -> None:
    base = replace(ALONE, runtime="openvino-cpu", options={"pinning": True})
    both = replace(base, options={**base.options, "streams": 2, "sessions": 2})
    other = replace(both, options={"streams": 2, "pinning": False})

    def write_rounds(folder: RunFolder) -> None:
        record(folder, base, 0, [100.0] * 30)
        record(folder, both, 0, [100.0] * 30, concurrency=4)
        record(folder, other, 0, [100.0] * 30, concurrency=2)

    _, both_row, lone = rows_of(tmp_path / "run", (base, both, other), write_rounds)
    assert both_row["replicas"] == 4.0
    assert both_row["scaling_efficiency"] == pytest.approx(1.0)
    assert lone["scaling_baseline_case_id"] is lone["scaling_missing_reason"] is None, (
        "it was not measured alone"
    )


@pytest.mark.parametrize("base", ["fake:1", "fake:0", "ort-cuda", "ort-cuda:0"])
def test_several_devices_are_held_against_the_first_of_them_by_each_of_its_names(
    tmp_path: Path, base: str
) -> None:
    devices = {"fake": "fake:1+0", "ort-cuda": "ort-cuda:0+1"}[base.partition(":")[0]]
    alone = replace(ALONE, runtime=base)
    both, four = (
        replace(alone, runtime=devices, options=options) for options in ({}, {"sessions": 4})
    )

    def write_rounds(folder: RunFolder) -> None:
        record(folder, alone, 0, [100.0] * 30)
        record(folder, both, 0, [100.0] * 30, concurrency=2)
        record(folder, four, 0, [200.0] * 30, concurrency=4)

    _, two, more = rows_of(tmp_path / "run", (alone, both, four), write_rounds)
    if base == "fake:0":
        assert two["scaling_baseline_case_id"] is None, "it is not the first"
        return
    assert two["scaling_baseline_case_id"] == more["scaling_baseline_case_id"] == alone.case_id
    assert (two["replicas"], more["replicas"]) == (2.0, 4.0)
    assert two["scaling_efficiency"] == pytest.approx(1.0)
    assert more["scaling_efficiency"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"status": "wrong_output", "reason": "off by 2"}, "it is wrong output: off by 2"),
        ({"clock": "simulated"}, "the clock is simulated, alone wall"),
    ],
)
def test_what_has_no_efficiency_says_why(tmp_path: Path, facts: Any, why: str) -> None:
    def write_rounds(folder: RunFolder) -> None:
        record(folder, ALONE, 0, [100.0] * 30)
        record(folder, TWO, 0, [100.0] * 30, concurrency=2, **facts)

    _, two = rows_of(tmp_path / "run", (ALONE, TWO), write_rounds)
    assert two["scaling_missing_reason"] == why
    assert two["scaling_efficiency"] is None


def test_a_case_with_gaps_has_no_inputs_in_a_second_to_scale(tmp_path: Path) -> None:
    alone, two = (replace(case, scenario=Scenario("paced", 20.0)) for case in (ALONE, TWO))

    def write_rounds(folder: RunFolder) -> None:
        record(folder, alone, 0, [100.0] * 30)
        record(folder, two, 0, [100.0] * 30, concurrency=2)

    _, row = rows_of(tmp_path / "run", (alone, two), write_rounds)
    assert "--scenario offline" in str(row["scaling_missing_reason"])


def test_what_was_measured_alone_in_another_run_gives_no_efficiency(tmp_path: Path) -> None:
    """As of two runs that are read as one: their rounds are no pairs."""

    def write_rounds(folder: RunFolder) -> None:
        record(folder, ALONE, 0, [100.0] * 30)
        record(folder, TWO, 0, [100.0] * 30, concurrency=2)

    rows_of(tmp_path / "run", (ALONE, TWO), write_rounds)
    alone, two = Rows().measured(read_run(tmp_path / "run"))
    columns = scaling_columns([alone, replace(two, turn="another")])[two.case.case_id]
    assert "not measured in turn" in str(columns["scaling_missing_reason"])
    assert "speedup" not in columns
