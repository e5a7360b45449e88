"""What came between the runs of a case, as its row tells it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.column import Row
from app.cases.round import RoundResult
from app.cases.telemetry import Disturbance, Interference
from app.columns.rows import Rows
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from exporters.codec import from_json, to_json
from exporters.diagnostics.catalogue import codes, diagnostic
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

QUIET = Interference(seconds=1.0, involuntary_switches=0, minor_faults=0, major_faults=0)


def told_by(folder: Path, *rounds: Interference | None) -> Row:
    """The row of rounds of 500 runs of 100 us, of which two took 5 ms."""
    latencies = [100.0 + k % 7 for k in range(498)] + [5000.0, 5000.0]
    with RunFolder.create(folder, manifest_of((CASE,), len(rounds))) as run:
        run.begin(ENVIRONMENT)
        for number, interference in enumerate(rounds):
            record(run, CASE, number, latencies, interference=interference)
    return Rows().of(read_run(folder))[0]


def test_a_quiet_round_blames_nothing_for_its_slow_runs(tmp_path: Path) -> None:
    row = told_by(tmp_path / "run", QUIET)
    assert (row["outliers"], row["outlier_causes"]) == (2, "unseen 2")
    assert row["involuntary_switches_per_s"] == 0.0
    assert not any(code.startswith("outliers_from") for code in codes(diagnostics_of(row)))


def test_rates_and_causes_are_those_of_all_rounds_together(tmp_path: Path) -> None:
    """The two slow runs are the last of some 60 ms."""
    busy_end = Disturbance(40_000_000, 10**9, involuntary_switches=1)
    interference = replace(QUIET, involuntary_switches=30, disturbances=(busy_end,), seconds=2.0)
    row = told_by(tmp_path / "run", QUIET, interference, replace(interference, temperature_c=70.0))
    assert row["involuntary_switches_per_s"] == pytest.approx(60 / 5.0)
    assert row["page_faults_per_s"] == 0.0
    assert (row["outliers"], row["outlier_causes"]) == (6, "switch 2, unseen 4")
    assert row["cpu_temperature_c"] == 70.0
    expected = diagnostic("outliers_from_context_switches", outliers=2, all=6)
    assert expected in diagnostics_of(row)


@pytest.mark.parametrize(
    ("told", "is_contended"),
    [
        ([QUIET], False),
        ([replace(QUIET, involuntary_switches=9, steal_share=0.009)], False),
        ([replace(QUIET, involuntary_switches=10)], True),
        ([replace(QUIET, steal_share=0.01)], True),
        ([QUIET, QUIET, replace(QUIET, involuntary_switches=30)], True),
        ([QUIET, replace(QUIET, involuntary_switches=19)], False),
        ([replace(QUIET, involuntary_switches=None), None], False),
    ],
)
def test_rounds_from_which_other_work_took_the_core_are_marked(
    told: list[Interference | None], is_contended: bool, tmp_path: Path
) -> None:
    row = told_by(tmp_path / "run", *told * 3)
    assert ("contended" in str(row["ci_flags"]).split()) == is_contended


def test_what_no_round_could_read_is_empty_and_not_0(tmp_path: Path) -> None:
    row = told_by(tmp_path / "run", replace(QUIET, minor_faults=None), None)
    for column in ("steal_fraction", "interrupts_per_s", "page_faults_per_s", "cpu_clock_min_mhz"):
        assert row[column] is None
    older_row = told_by(tmp_path / "older", None)
    assert (older_row["outliers"], older_row["outlier_causes"]) == (2, None)


def test_a_round_of_an_older_release_is_read(tmp_path: Path) -> None:
    values = to_json(RoundResult("case", 0, "ok", interference=QUIET))
    assert from_json(RoundResult, values).interference == QUIET
    del values["interference"]
    assert from_json(RoundResult, values).interference is None
