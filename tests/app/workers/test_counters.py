"""What other machines tell of themselves is read rightly, and what one does not tell is None."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.cases.round import RECORD, Limits
from app.machine.placement import usable_cores
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.workers.system_counters import (
    Counters,
    Watch,
    read_counters,
    read_temperature_c,
    thermometer,
    ticks_per_s,
)
from exporters.diagnostics import codes
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of
from tests.app.workers.conftest import Measure

STAT = """\
cpu  3136637 497466 391666 574472 11842 0 5065 9199 0 0
cpu0 1476449 250302 190572 385345 4431 0 502 4606 0 0
cpu1 1660187 247163 201094 189126 7411 0 4562 {stolen} 0 0
cpu10 1 2 3 4 5 6 7 999 0 0
intr {interrupts} 0 9 0 0
ctxt 33843068
softirq 10567874 0 1665330
"""


def machine(root: Path, steal: int = 4592, interrupts: int = 18973514) -> Path:
    """A folder of files as a virtual machine under KVM has them, beside a heat."""
    write(root / "proc/stat", STAT.format(stolen=steal, interrupts=interrupts))
    write(root / "sys/class/thermal/thermal_zone0/type", "acpitz\n")
    write(root / "sys/class/thermal/thermal_zone0/temp", "27800\n")
    write(root / "sys/class/hwmon/hwmon2/name", "k10temp\n")
    write(root / "sys/class/hwmon/hwmon2/temp1_input", "61250\n")
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def block(begun_ns: int, ended_ns: int) -> np.ndarray:
    records = np.zeros(1, RECORD)
    records["started_ns"], records["finished_ns"] = begun_ns, ended_ns
    return records


def test_stolen_time_is_that_of_the_cores_in_use_and_heat_the_processors(tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert read_counters(root, (0, 1)) == Counters(4606 + 4592, 18973514)
    assert read_counters(root, (1,)).stolen_ticks == 4592
    assert read_temperature_c(thermometer(root)) == pytest.approx(61.25), "not the board's"
    write(root / "sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n")
    write(root / "sys/class/thermal/thermal_zone1/temp", "48000\n")
    assert read_temperature_c(thermometer(root)) == 48.0


def test_what_a_machine_does_not_tell_is_none_and_never_0(tmp_path: Path) -> None:
    """As on a virtual machine without sensors, on macOS, and on a kernel before 2.6.11 that knew of
    no stolen time."""
    assert read_counters(tmp_path, (0,)) == Counters(None, None)
    assert thermometer(tmp_path) is None
    assert read_temperature_c(None) is None
    write(tmp_path / "proc/stat", "cpu0 1476449 250302 190572 385345 4431 0 502\n")
    assert read_counters(tmp_path, (0,)) == Counters(None, None)
    watch = Watch((0,), root=tmp_path)
    watch.begin()
    watch.end(block(0, 1000))
    interference = watch.interference()
    assert interference is not None
    names = ("steal_share", "interrupts", "temperature_c", "usual_mhz")
    assert {getattr(interference, name) for name in names} == {None}


def watched(root: Path, watch: Watch, number: int, steal: int, interrupts: int) -> None:
    """Half a second of a machine in which so much was stolen and interrupted."""
    machine(root, 5000, 10_000)
    watch.begin()
    machine(root, 5000 + steal, 10_000 + interrupts)
    watch.end(block(number * 10**9, number * 10**9 + 500_000_000))


def test_blocks_tell_what_was_stolen_and_stand_out_by_interrupts_and_a_low_clock(
    tmp_path: Path,
) -> None:
    clocks_mhz = iter((2600.0, 2600.0, 1700.0, 2500.0, 2600.0, 2600.0))
    widths = iter((4.0, 3.9, 4.0, 2.0, 2.1, 4.0, *[4.0] * 6))
    clock_mhz = 0.0

    def clock() -> float:
        nonlocal clock_mhz
        clock_mhz = next(clocks_mhz)
        return clock_mhz

    watch = Watch((0, 1), clock, lambda: next(widths) * clock_mhz, machine(tmp_path))
    for number in range(6):
        steal, interrupts = 10 * (number == 1), 9000 if number == 4 else 1000
        watched(tmp_path, watch, number, steal, interrupts)
    interference = watch.interference()
    assert interference is not None
    assert (interference.seconds, interference.interrupts) == (3.0, 14_000)
    assert interference.steal_share == pytest.approx(10 / (2 * 3.0 * ticks_per_s()))
    by_block = {d.begun_ns // 10**9: d for d in interference.disturbances}
    assert {n: d.steal_ms for n, d in by_block.items() if d.steal_ms} == {
        1: pytest.approx(10 * 1e3 / ticks_per_s())
    }
    assert [n for n, d in by_block.items() if d.many_interrupts] == [4]
    assert [n for n, d in by_block.items() if d.low_clock] == [2]
    assert [n for n, d in by_block.items() if d.shared_core] == [1, 2]
    assert interference.cpu_mhz == (2600.0, 2600.0, 1700.0, 2500.0, 2600.0, 2600.0)
    assert interference.core_widths == pytest.approx((3.9, 2.0, 2.1, 4.0, 4.0, 4.0))
    assert interference.block_starts_ns == tuple(n * 10**9 for n in range(6))
    assert interference.usual_mhz == 2600.0


SECOND = Limits(min_s=1.0, max_s=4.0, min_samples=100, warmup_min_s=0.02, warmup_max_s=0.3)


@pytest.mark.alone
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores can't be chosen here")
def test_a_process_that_takes_the_core_is_told_and_slow_runs_are_laid_at_its_door(
    measure: Measure, tmp_path: Path
) -> None:
    core = min(usable_cores())
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        os.sched_setaffinity(busy.pid, (core,))
        options = {"latency_us": 200.0}
        result, _, _ = measure("fake", options=options, affinity=(core,), limits=SECOND)
        busy.kill()
    with RunFolder.create(tmp_path / "run", manifest_of((CASE,), 1)) as run:
        run.begin(ENVIRONMENT)
        (tmp_path / "samples.bin").replace(run.samples / "one.bin")
        run.record(replace(result, case_id=CASE.case_id, samples="one.bin"))
    (row,) = Rows().of(read_run(tmp_path / "run"))
    assert isinstance(row["involuntary_switches_per_s"], float)
    assert row["involuntary_switches_per_s"] > 10
    assert "switch" in str(row["outlier_causes"])
    assert "outliers_from_context_switches" in codes(diagnostics_of(row))
