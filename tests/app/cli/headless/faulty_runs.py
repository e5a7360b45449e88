"""Runs with one fault each, made by hand with the cases of a real plan, for commands to read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.status import Status
from app.machine.environment import describe_host
from app.plan.plan import Plan, parse_plan
from app.run_folder.manifest import read_manifest
from app.sweep.run_creation import create_run
from tests.app.cli.headless.batch import run
from tests.app.run_folder.runs import record

FAST_US, SLOW_US = 200.0, 400.0
Facts = Callable[[Case], dict[str, Any]]
"""What the rounds of a case tell beside their samples; a status has none."""


def plan_of(graph: Path, latencies_us: Sequence[float] = (SLOW_US, FAST_US), **keys: Any) -> Plan:
    """A plan of a case for each latency, of the runtime `fake`."""
    grid = {
        "models": [str(graph)],
        "runtimes": ["fake"],
        "options": {"fake.latency_us": list(latencies_us)},
    }
    return parse_plan({"rounds": 3, "profile": "glance", "sweeps": [grid], **keys}, "test")


def is_fast(case: Case) -> bool:
    return case.options["latency_us"] == FAST_US


def made(path: Path, plan: Plan, facts: Facts = lambda _: {}, host: str = "") -> Path:
    """A run of this plan in which all was measured, and which has ended."""
    environment = describe_host()
    with create_run(plan, path) as folder:
        folder.begin({**environment, "host": host or environment["host"]})
        for case in folder.manifest.cases:
            values = facts(case)
            if "status" in values:
                record(folder, case, 0, [], **values)
                continue
            typical_us = float(case.options["latency_us"])
            for number in range(folder.manifest.rounds):
                level_us = typical_us * (1.0 + 0.001 * number)
                samples_us = [level_us * (1.0 + 0.0001 * (k % 20)) for k in range(400)]
                record(folder, case, number, samples_us, **values)
    run("resume", str(path))
    return path


def ended(status: Status) -> Facts:
    """The fast case has ended with this status, before any run."""
    return lambda case: {"status": status, "reason": "as the test says"} if is_fast(case) else {}


def other_clock(case: Case) -> dict[str, Any]:
    """The fast case was timed by a simulated clock."""
    return {"clock": "simulated"} if is_fast(case) else {}


def without_a_case(source: Path, path: Path) -> Path:
    """A copy in which neither journal nor samples have anything of the last case."""
    shutil.copytree(source, path)
    case_id = read_manifest(path).cases[-1].case_id
    (journal,) = [j for j in (path / "journal").iterdir() if case_id in j.read_text("utf-8")]
    lines = journal.read_text("utf-8").splitlines()
    other_lines = [line for line in lines if json.loads(line).get("case_id") != case_id]
    assert len(other_lines) < len(lines)
    journal.write_text("".join(f"{line}\n" for line in other_lines), "utf-8")
    for samples in (path / "samples").glob(f"{case_id}.*"):
        samples.unlink()
    return path


def with_cut_samples(source: Path, path: Path) -> Path:
    """A copy in which the samples of a round of the last case are cut."""
    shutil.copytree(source, path)
    case_id = read_manifest(path).cases[-1].case_id
    samples = path / "samples" / f"{case_id}.1.bin"
    samples.write_bytes(samples.read_bytes()[:-7])
    return path
