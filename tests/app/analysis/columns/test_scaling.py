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

from app.analysis.columns.reference_cases import Scaling
from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, RoundResult
from app.cases.scenario import Scenario
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.runs.reader import read_run
from app.stats.intervals import round_correlation
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, measured_run

ALONE = Case("mlp", "ort-cpu", axes={"batch": 4})
TWO = replace(ALONE, options={"sessions": 2})
OFFLINE = Scenario.parse("offline")
QUICK = (100.0,)
LEVELS = (100.0, 160.0, 90.0, 250.0, 120.0)
"""A machine whose rounds differ much, all cases of a round alike."""


def run_of(path: Path, *measured: tuple[Case, Sequence[float], int], **facts: Any) -> Run:
    """Of each case a round of 30 runs for each level, on so many lanes; `facts` are of the last."""
    rounds = [
        (case, [[level] * 30 for level in levels], {"concurrency": lanes})
        for case, levels, lanes in measured
    ]
    rounds[-1][2].update(facts)
    return measured_run(path, *rounds)


def pseudo_median(values: np.ndarray) -> float:
    """The median of the means of all pairs, each value with itself too."""
    pairs = [(a + b) / 2 for place, a in enumerate(values) for b in values[place:]]
    return float(np.median(pairs))


def test_the_efficiency_is_the_speedup_over_the_sessions(tmp_path: Path) -> None:
    slower = (1.0, 1.2, 1.1, 1.3, 1.25)
    levels = [level * factor for level, factor in zip(LEVELS, slower, strict=True)]
    alone, two = Rows().of(run_of(tmp_path / "run", (ALONE, LEVELS, 1), (TWO, levels, 2)))
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
    with RunFolder.create(tmp_path / "run", manifest_of((alone, two), 3)) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(3):
            record_block(folder, alone, number, lanes=1, run_us=15.0)
            record_block(folder, two, number, lanes=2, run_us=20.0)
    _, row = Rows().of(read_run(tmp_path / "run"))
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


def test_streams_and_sessions_are_both_counted_and_no_other_option(tmp_path: Path) -> None:
    base = replace(ALONE, runtime="openvino-cpu", options={"pinning": True})
    both = replace(base, options={**base.options, "streams": 2, "sessions": 2})
    other = replace(both, options={"streams": 2, "pinning": False})
    run = run_of(tmp_path / "run", (base, QUICK, 1), (both, QUICK, 4), (other, QUICK, 2))
    _, both_row, lone = Rows().of(run)
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
    run = run_of(tmp_path / "run", (alone, QUICK, 1), (both, QUICK, 2), (four, [200.0], 4))
    _, two, more = Rows().of(run)
    if base == "fake:0":
        assert two["scaling_baseline_case_id"] is None, "it is not the first"
        return
    assert two["scaling_baseline_case_id"] == more["scaling_baseline_case_id"] == alone.case_id
    assert (two["replicas"], more["replicas"]) == (2.0, 4.0)
    assert two["scaling_efficiency"] == pytest.approx(1.0)
    assert more["scaling_efficiency"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("facts", "scenario", "why"),
    [
        ({"status": "wrong_output", "reason": "off"}, ALONE.scenario, "it is wrong output: off"),
        ({"clock": "simulated"}, ALONE.scenario, "the clock is simulated, alone wall"),
        ({}, Scenario("paced", 20.0), "--scenario offline"),
        ({}, ALONE.scenario, "not measured in turn"),
    ],
    ids=["wrong", "another clock", "gaps", "another run"],
)
def test_what_has_no_efficiency_says_why(
    tmp_path: Path, facts: Any, scenario: Scenario, why: str
) -> None:
    """What was measured alone in another run has none either: their rounds are no pairs."""
    alone, two = (replace(case, scenario=scenario) for case in (ALONE, TWO))
    run = run_of(tmp_path / "run", (alone, QUICK, 1), (two, QUICK, 2), **facts)
    first, second = Rows().measured(run)
    second = replace(second, turn="another") if "turn" in why else second
    columns = Scaling.fill(run.manifest.requested_plan, [first, second])[second.case.case_id]
    assert why in str(columns["scaling_missing_reason"])
    assert "speedup" not in columns
