"""Readings and samples joined by time: energies worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.devices import Devices
from app.analysis.columns.family import SampledCase
from app.cases.column import Row
from app.cases.round import MEASURED, RECORD, WARMUP, RoundResult
from app.cases.telemetry import Reading
from app.run_folder.run import Run
from exporters.codec import to_json
from runtimes.execution import Clock
from tests.app.run_folder.runs import CASE, manifest_of

SECOND = 1_000_000_000


def write_round(
    run: Path, readings: Sequence[Reading], number: int = 0, clock: Clock = "wall"
) -> RoundResult:
    """A round of one warm-up run and then one run every 10 ms for 2 s, from second 1 on."""
    (run / "samples").mkdir(exist_ok=True)
    (run / "telemetry").mkdir(exist_ok=True)
    records = np.zeros(201, RECORD)
    records["started_ns"] = SECOND + np.arange(-1, 200) * 10_000_000
    records["finished_ns"] = records["started_ns"] + 9_000_000
    records["phase"] = MEASURED
    records["phase"][0] = WARMUP
    (run / "samples" / f"case.{number}.bin").write_bytes(records.tobytes())
    text = "".join(json.dumps(to_json(reading)) + "\n" for reading in readings)
    (run / "telemetry" / f"case.{number}.jsonl").write_text(text)
    return RoundResult("case", number, "ok", samples=f"case.{number}.bin", clock=clock)


def run_in(folder: Path) -> Run:
    return Run(folder, manifest_of([]), {}, {}, {})


def device_columns(run: Run, rounds: Sequence[RoundResult]) -> Row:
    plan = run.manifest.requested_plan
    return Devices.of(SampledCase(run, CASE, plan, rounds, ()))


def at(seconds: float) -> int:
    return round(seconds * SECOND)


def test_energy_is_a_difference_over_the_runs_in_between(tmp_path: Path) -> None:
    readings = [Reading(at(t), "cpu", energy_mj=1000.0 + 20_000.0 * t) for t in (0.5, 1.2, 2.2, 9)]
    row = device_columns(run_in(tmp_path), [write_round(tmp_path, readings)])
    assert row["power_w"] == pytest.approx(20.0)
    assert row["energy_mj_per_inference"] == pytest.approx(20_000.0 / 100)
    assert "gpu_clock_mhz" not in row


@pytest.mark.parametrize(("interval_s", "uncertainty"), [(0.1, 0.2), (0.02, 0.04)])
def test_energy_is_counted_from_step_to_step(
    tmp_path: Path, interval_s: float, uncertainty: float
) -> None:
    """A counter of 20 W that moves every half second, read in between: between readings whose
    values lag by up to half a second the same counter shows 13 to 27 W. Its steps that are seen are
    a second apart, and each is known to one interval."""
    times = np.arange(1.05, 3.0, interval_s)
    readings = [
        Reading(at(t), "gpu:0", energy_mj=20_000.0 * (np.floor(2 * t) / 2)) for t in times.tolist()
    ]
    row = device_columns(run_in(tmp_path), [write_round(tmp_path, readings)])
    assert row["power_w"] == pytest.approx(20.0, rel=uncertainty)
    assert row["energy_uncertainty"] == pytest.approx(uncertainty, rel=0.15)


def test_the_span_ends_with_the_last_run_of_several_at_once(tmp_path: Path) -> None:
    """The run that began last is not always the one that ended last."""
    clocks = ((1.5, 1200.0), (3.2, 1400.0), (3.8, 9000.0))
    result = write_round(tmp_path, [Reading(at(t), "gpu:0", clock_mhz=c) for t, c in clocks])
    path = tmp_path / "samples" / result.samples
    records = np.fromfile(path, RECORD)
    records["finished_ns"][-2] = at(3.5)
    path.write_bytes(records.tobytes())
    assert device_columns(run_in(tmp_path), [result])["gpu_clock_mhz"] == 1300.0


@pytest.mark.parametrize(
    ("powers_w", "power_w", "mj", "uncertainty"),
    [
        (((1.1, 100.0), (1.6, 200.0), (2.1, 100.0)), 150.0, 150_000.0 / 100, 1.0),
        # From the start of the first run, at 1 s, to the end of the last, at 2.999 s.
        (((1.0, 100.0), (2.999, 100.0)), 100.0, 100_000.0 * 1.999 / 200, 1.0 / 1.999),
    ],
)
def test_without_a_counter_the_power_is_integrated(
    tmp_path: Path,
    powers_w: Sequence[tuple[float, float]],
    power_w: float,
    mj: float,
    uncertainty: float,
) -> None:
    """A reading is the mean of a second."""
    readings = [Reading(at(t), "gpu:0", power_w=watts) for t, watts in powers_w]
    row = device_columns(run_in(tmp_path), [write_round(tmp_path, readings)])
    names = ("power_w", "energy_mj_per_inference", "energy_uncertainty")
    assert [row[name] for name in names] == pytest.approx([power_w, mj, uncertainty])


def test_a_gpus_row_has_the_gpus_figures(tmp_path: Path) -> None:
    readings = [
        Reading(at(t), device, energy_mj=scale * t, clock_mhz=clock, throttle=why)
        for t, clock, why in ((1.1, 1500.0, ()), (1.5, 1400.0, ("thermal",)), (2.1, 1200.0, ()))
        for device, scale in (("gpu:0", 300_000.0), ("cpu", 1.0))
    ]
    row = device_columns(run_in(tmp_path), [write_round(tmp_path, readings)])
    assert row["power_w"] == pytest.approx(300.0)
    assert row["gpu_clock_mhz"] == 1400.0
    assert row["throttle_reasons"] == "thermal"


def test_two_gpus_take_what_both_take_and_neither_has_moved_for_the_other(
    tmp_path: Path,
) -> None:
    readings = [
        Reading(
            at(t), device, energy_mj=watts * 1e3 * t, clock_mhz=clock, process_memory_mb=100.0 * t
        )
        for t in (1.1, 1.6, 2.1)
        for device, watts, clock in (("gpu:0", 300.0, 1500.0), ("gpu:1", 200.0, 1200.0))
    ]
    row = device_columns(run_in(tmp_path), [write_round(tmp_path, readings)])
    assert row["power_w"] == pytest.approx(500.0)
    assert row["energy_mj_per_inference"] == pytest.approx(500_000.0 / 100)
    assert row["device_memory_peak_mib"] == pytest.approx(2 * 210.0)
    assert row["gpu_clock_min_mhz"] == row["gpu_clock_max_mhz"]
    silent = [reading for reading in readings if reading.device == "gpu:0"] + [
        Reading(at(t), "gpu:1") for t in (1.1, 2.1)
    ]
    assert "power_w" not in device_columns(run_in(tmp_path), [write_round(tmp_path, silent)])


def test_memory_counts_over_the_whole_round_and_throttling_in_any(tmp_path: Path) -> None:
    first = [Reading(at(0.1), "gpu:0", process_memory_mb=900.0, throttle=("power_cap",))]
    second = [Reading(at(1.5), "gpu:0", process_memory_mb=500.0, throttle=())]
    rounds = [write_round(tmp_path, r, number) for number, r in enumerate((first, second))]
    row = device_columns(run_in(tmp_path), rounds)
    assert row["device_memory_peak_mib"] == 900.0
    assert row["throttle_reasons"] == "none", (
        "what held it down before the measurement does not count"
    )


def test_the_clocks_of_the_gpu_are_told_from_the_lowest_to_the_highest_of_all_rounds(
    tmp_path: Path,
) -> None:
    first = [
        Reading(
            at(t), "gpu:0", clock_mhz=clock, memory_clock_mhz=3201.0, other_processes=process_count
        )
        for t, clock, process_count in ((0.5, 345.0, 9), (1.5, 1980.0, 0), (2.5, 1965.0, 1))
    ]
    second = [Reading(at(1.5), "gpu:0", clock_mhz=1755.0, process_memory_mb=7.0)]
    rounds = [write_round(tmp_path, r, number) for number, r in enumerate((first, second))]
    row = device_columns(run_in(tmp_path), rounds)
    assert (row["gpu_clock_min_mhz"], row["gpu_clock_max_mhz"]) == (1755.0, 1980.0)
    assert row["gpu_memory_clock_mhz"] == 3201.0
    assert row["gpu_other_processes"] == 1, "who was there before the measurement does not count"
    assert row["device_memory_source"] == "driver"


@pytest.mark.parametrize(("end_s", "clock"), [(1.2, "wall"), (2.9, "simulated")])
def test_too_short_a_span_and_a_simulated_one_tell_no_energy(
    tmp_path: Path, end_s: float, clock: Clock
) -> None:
    readings = [Reading(at(t), "cpu", energy_mj=t) for t in (1.1, end_s)]
    assert device_columns(run_in(tmp_path), [write_round(tmp_path, readings, clock=clock)]) == {}
