"""What rounds tell of the GPU, of their place and of what came between, as columns and warnings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

import pytest

from app.analysis.columns.environment import GpuSettings, Placement, gpu_warnings
from app.analysis.columns.rows import Rows
from app.analysis.columns.table import NAMES
from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import RoundResult
from app.cases.telemetry import Disturbance, GpuState, Interference, Surroundings
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from exporters.diagnostics import codes, diagnostic
from tests.app.analysis.columns.filled import of_rounds
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

STATE = GpuState("H", "GPU-b", "580.95", 700.0, 1980.0, True, True, False, "PCIe 5 x16")
GPU_CASE = Case("mlp", "torch-cuda")
QUIET: Row = {**dict.fromkeys(NAMES), "throttle_reasons": "none"}


def test_what_differed_between_rounds_is_told_by_each() -> None:
    states = (STATE, replace(STATE, driver="581.0", power_limit_w=600.0, ecc=None))
    rounds = [RoundResult("c", n, "ok", environment={"gpu": s}) for n, s in enumerate(states)]
    columns = GpuSettings.fill(of_rounds(rounds), {})
    assert (columns["gpu_driver"], columns["gpu_uuid"]) == ("580.95; 581.0", "GPU-b")
    assert columns["gpu_power_limit_w"] == 600.0
    assert columns["gpu_ecc"] is True, "the round that did not tell says nothing"


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"gpu_clock_min_mhz": 1965.0, "gpu_clock_max_mhz": 1980.0}, ""),
        ({"gpu_clock_min_mhz": 345.0, "gpu_clock_max_mhz": 1980.0}, "gpu_clock_varied"),
        (
            {"gpu_clock_min_mhz": 9.0, "gpu_clock_max_mhz": 9.0, "throttle_reasons": "thermal"},
            "gpu_throttled",
        ),
        ({"gpu_other_processes": 0}, ""),
        ({"gpu_other_processes": 2}, "gpu_shared"),
        ({"gpu_persistence": False}, "gpu_persistence_off"),
        ({"gpu_persistence": True}, ""),
    ],
)
def test_what_makes_a_figure_doubtful_is_said(found: Row, code: str) -> None:
    warnings = [*gpu_warnings(GPU_CASE, {**QUIET, **found})]
    assert [warning.code for warning in warnings] == [code] * bool(code)


HERE: Surroundings = {
    "affinity": [2, 3],
    "numa_nodes": [0],
    "scheduler": "fifo 10",
    "memory_locked": True,
    "huge_page_fraction": 0.75,
}


def measured(**environment: Unpack[Surroundings]) -> RoundResult:
    return RoundResult("case", 0, "ok", samples="one.bin", environment={**HERE, **environment})


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        ([measured(), measured()], ("2-3", "0", True, 0.75, "fifo 10", 1, None)),
        (
            [
                measured(),
                replace(
                    measured(
                        affinity=[5],
                        numa_nodes=[1],
                        scheduler="other",
                        memory_locked=False,
                        huge_page_fraction=0.5,
                    ),
                    attempt=3,
                    facts={"memory_places": 6},
                ),
            ],
            ("2-3; 5", "0; 1", False, 0.625, "fifo 10; other", 3, 6.0),
        ),
        (
            [RoundResult("case", 0, "ok", samples="one.bin", environment={"affinity": [1]})],
            ("1", None, None, None, None, 1, None),
        ),
        ([], (None,) * 7),
    ],
    ids=["alike", "one had less", "not told", "none"],
)
def test_rounds_alike_are_told_once_and_one_that_had_less_shows(
    rounds: list[RoundResult], told: tuple[object, ...]
) -> None:
    names: tuple[str, ...] = ("cores", "numa_node", "memory_locked", "huge_page_fraction")
    names += ("scheduler", "attempts", "memory_places")
    columns = Placement.fill(of_rounds(rounds), {})
    assert tuple(columns[name] for name in names) == told and len(columns) == len(names)


UNDISTURBED = Interference(seconds=1.0, involuntary_switches=0, minor_faults=0, major_faults=0)


def told_by(folder: Path, *rounds: Interference | None) -> Row:
    """The row of rounds of 500 runs of 100 us, of which two took 5 ms."""
    latencies = [100.0 + k % 7 for k in range(498)] + [5000.0, 5000.0]
    with RunFolder.create(folder, manifest_of((CASE,), len(rounds))) as run:
        run.begin(ENVIRONMENT)
        for number, interference in enumerate(rounds):
            record(run, CASE, number, latencies, interference=interference)
    return Rows().of(read_run(folder))[0]


def test_a_quiet_round_blames_nothing_and_what_no_round_could_read_is_empty(tmp_path: Path) -> None:
    row = told_by(tmp_path / "run", UNDISTURBED)
    assert (row["outliers"], row["outlier_causes"]) == (2, "unseen 2")
    assert row["involuntary_switches_per_s"] == 0.0
    assert not any(code.startswith("outliers_from") for code in codes(diagnostics_of(row)))
    row = told_by(tmp_path / "unread", replace(UNDISTURBED, minor_faults=None), None)
    for column in ("steal_fraction", "interrupts_per_s", "page_faults_per_s", "cpu_clock_min_mhz"):
        assert row[column] is None
    assert told_by(tmp_path / "other", None)["outlier_causes"] is None


def test_rates_and_causes_are_those_of_all_rounds_together(tmp_path: Path) -> None:
    """The two slow runs are the last of some 60 ms."""
    busy_end = Disturbance(40_000_000, 10**9, involuntary_switches=1)
    interference = replace(
        UNDISTURBED, involuntary_switches=30, disturbances=(busy_end,), seconds=2.0
    )
    row = told_by(
        tmp_path / "run", UNDISTURBED, interference, replace(interference, temperature_c=70.0)
    )
    assert row["involuntary_switches_per_s"] == pytest.approx(60 / 5.0)
    assert row["page_faults_per_s"] == 0.0
    for faults in (10_000, 10_001):
        other = told_by(tmp_path / str(faults), replace(UNDISTURBED, minor_faults=faults))
        assert ("page_faults" in codes(diagnostics_of(other))) is (faults > 10_000)
    assert (row["outliers"], row["outlier_causes"]) == (6, "switch 2, unseen 4")
    assert row["cpu_temperature_c"] == 70.0
    expected = diagnostic("outliers_from_context_switches", outliers=2, all=6)
    assert expected in diagnostics_of(row)


@pytest.mark.parametrize(
    ("told", "is_contended"),
    [
        ([UNDISTURBED], False),
        ([replace(UNDISTURBED, involuntary_switches=9, steal_share=0.009)], False),
        ([replace(UNDISTURBED, involuntary_switches=10)], True),
        ([replace(UNDISTURBED, steal_share=0.01)], True),
        ([UNDISTURBED, UNDISTURBED, replace(UNDISTURBED, involuntary_switches=30)], True),
        ([UNDISTURBED, replace(UNDISTURBED, involuntary_switches=19)], False),
        ([replace(UNDISTURBED, involuntary_switches=None), None], False),
    ],
)
def test_rounds_from_which_other_work_took_the_core_are_marked(
    told: list[Interference | None], is_contended: bool, tmp_path: Path
) -> None:
    row = told_by(tmp_path / "run", *told * 3)
    assert ("contended" in str(row["ci_flags"]).split()) == is_contended
