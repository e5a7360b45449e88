"""Whoever chooses cores has them to himself: the batch process and its helpers keep off them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.cases.column import Row
from app.machine.placement import on_cores, usable_cores
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.work.local_executor import ThisMachine
from runtimes.options import OptionValue
from tests.app.cli.headless.batch import run as batch
from tests.app.machine.unprivileged import needs_cores, needs_realtime
from tests.app.sweep.sweeps import children, run_to_end, script, small_plan

pytestmark = needs_cores
ALL, LAST = usable_cores(), max(usable_cores())
SAYS_ITS_CORES = "print(sorted(os.sched_getaffinity(0)), flush=True); sys.stdin.readline()"


def test_what_measures_has_the_cores_and_nobody_else(tmp_path: Path) -> None:
    command = script(tmp_path / "cores.py", SAYS_ITS_CORES)
    kinds = {"round": [LAST], "operators": [LAST], "accuracy": [LAST], "export": sorted(ALL)}
    with ThisMachine(commands=dict.fromkeys(kinds, command), cores=(LAST,)) as place:
        assert usable_cores() == ALL - {LAST}
        for kind, cores in kinds.items():
            worker = place.start(kind)
            while not (lines := worker.lines()):
                time.sleep(0.01)
            worker.close()
            assert lines == [str(cores)], kind
    assert usable_cores() == ALL


def run(folder: Path, realtime: int | None = None, **options: OptionValue) -> Row:
    """The row of a run on the last core, whose batch process kept off it."""
    grid = {"options": {f"fake.{name}": [value] for name, value in options.items()}}
    values = {"profile": "glance", "time_limit_s": 5.0, "realtime": realtime}
    plan = small_plan(folder, grid, cores=str(LAST), **values)

    def react(_: object, sweep: SweepRun) -> None:
        assert sweep.finished or usable_cores() == ALL - {LAST}

    (row,) = run_to_end(create_run(plan, folder / "run"), react=react)
    assert usable_cores() == ALL
    return row


def test_a_row_says_where_it_was_measured_and_a_run_goes_on_only_there(tmp_path: Path) -> None:
    row = run(tmp_path)
    assert (row["status"], row["cores"], row["scheduler"]) == ("ok", str(LAST), "other")
    assert row["memory_locked"] is False
    assert "batch_process_on_measured_cores" not in str(row["warning_codes"])
    for again in (["resume"], ["--headless", "--plan"]):
        with on_cores({min(ALL)}):
            code, _, errors = batch(*again, str(tmp_path / "run"))
        assert code == 2 and f"core {LAST} is not allowed to this process" in errors


@needs_realtime
@pytest.mark.alone
def test_a_real_time_loop_that_never_ends_is_ended_by_the_time_limit(tmp_path: Path) -> None:
    """Its run spins for a minute, and nothing else has a turn on its core."""
    begun, child_pids = time.monotonic(), children()
    row = run(tmp_path, realtime=1, latency_us=60e6, wait="spin")
    assert row["status"] == "timeout"
    assert time.monotonic() - begun < 60
    assert children() <= child_pids
