"""What a real process in the way does to a round is counted, and told by its row."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.cases.column import Row
from app.cases.round import RECORD, Limits, RoundResult
from app.columns.rows import Rows
from app.machine.placement import usable_cores
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.workers.sampling import BLOCK_S
from app.workers.system_counters import Watch
from exporters.diagnostics.catalogue import codes
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of
from tests.app.workers.conftest import Measure

pytestmark = pytest.mark.alone
SECOND = Limits(min_s=1.0, max_s=4.0, min_samples=100, warmup_min_s=0.02, warmup_max_s=0.3)


@contextmanager
def busy(core: int) -> Iterator[None]:
    """Another process computes on this core."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        os.sched_setaffinity(process.pid, (core,))
        try:
            yield
        finally:
            process.kill()


def row_of(folder: Path, result: RoundResult, samples: Path) -> Row:
    with RunFolder.create(folder, manifest_of((CASE,), 1)) as run:
        run.begin(ENVIRONMENT)
        (run.samples / "one.bin").write_bytes(samples.read_bytes())
        run.record(replace(result, case_id=CASE.case_id, samples="one.bin"))
    return Rows().of(read_run(folder))[0]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores can't be chosen here")
def test_a_process_that_takes_the_core_is_told_and_slow_runs_are_laid_at_its_door(
    measure: Measure, tmp_path: Path
) -> None:
    core = min(usable_cores())
    samples = tmp_path / "busy.bin"
    with busy(core):
        result, _, _ = measure(
            "fake", options={"latency_us": 200.0}, affinity=(core,), limits=SECOND, samples=samples
        )
    row = row_of(tmp_path / "run", result, samples)
    assert isinstance(row["involuntary_switches_per_s"], float)
    assert row["involuntary_switches_per_s"] > 10
    assert "switch" in str(row["outlier_causes"])
    assert "outliers_from_context_switches" in codes(diagnostics_of(row))


def test_a_look_at_the_machine_takes_far_less_than_a_hundredth_of_a_block() -> None:
    watch, records = Watch(tuple(usable_cores())), np.zeros(5000, RECORD)
    records["finished_ns"] = 1
    spent_s = []
    for _ in range(200):
        start_s = time.perf_counter()
        watch.begin()
        watch.end(records)
        spent_s.append(time.perf_counter() - start_s)
    assert np.median(spent_s) < 0.005 * BLOCK_S
