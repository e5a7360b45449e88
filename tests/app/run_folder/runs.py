"""Run folders made by hand: known samples, so that every figure of a row can be worked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.case import Case
from app.cases.round import MEASURED, RECORD, WARMUP, Limits, RoundResult
from app.cases.status import Status
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder
from app.run_folder.journal import SHARES
from app.run_folder.manifest import Manifest, new_manifest
from app.run_folder.run import Run
from app.runs.reader import read_run

ENVIRONMENT = {"host": "testhost", "load_1min": 0.0}
CASE = Case(model="add.onnx", runtime="fake", axes={"batch": 4})
OTHER = Case(model="=cmd|' /C calc'!A0", runtime="fake")
PLAN = Plan(sweeps=(Sweep(models=("mlp",)),))


def manifest_of(
    cases: Sequence[Case] = (CASE, OTHER), rounds: int = 2, plan: Plan = PLAN
) -> Manifest:
    return new_manifest(
        name="test",
        seed=3,
        rounds=rounds,
        time_limit_s=60.0,
        limits=Limits(),
        plan=plan,
        cases=cases,
        environment=ENVIRONMENT,
    )


def record(
    folder: RunFolder,
    case: Case,
    number: int,
    latencies_us: Sequence[float] = (),
    status: Status = "ok",
    warmup: int = 0,
    **facts: Any,
) -> RoundResult:
    """Write one round with back-to-back runs of these latencies, after `warmup` slow ones."""
    facts = {"iterations": len(latencies_us), **facts}
    result = RoundResult(
        case_id=case.case_id,
        round=number,
        status=status,
        samples=write_samples(folder.samples, case, number, latencies_us, warmup),
        warmup_iterations=warmup,
        duration_s=sum(latencies_us) / 1e6,
        **facts,
    )
    folder.record(result)
    return result


Measured = tuple[Case, Sequence[Sequence[float]], Mapping[str, Any]]
"""A case, the latencies of each of its rounds, and what else `record` is told of all of them."""


def measured_run(path: Path, *measured: Measured, **settings: Any) -> Run:
    """A run of these cases, with these settings of its plan."""
    rounds = max(len(latencies) for _, latencies, _ in measured)
    manifest = manifest_of([case for case, _, _ in measured], rounds)
    manifest = replace(manifest, plan={**manifest.plan, **settings})
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for case, latencies_by_round, facts in measured:
            for number, latencies_us in enumerate(latencies_by_round):
                record(folder, case, number, latencies_us, **facts)
    return read_run(path)


@contextmanager
def share_of(
    folder: RunFolder, environment: Mapping[str, Any], number: int = 1
) -> Iterator[RunFolder]:
    """The folder of what a host measures of a run."""
    path = folder.path / SHARES / str(environment["host"]) / str(number)
    with RunFolder.create(path, folder.manifest) as share:
        share.begin(environment)
        yield share


def write_samples(
    folder: Path, case: Case, number: int, latencies_us: Sequence[float], warmup: int
) -> str:
    if not latencies_us:
        return ""
    latencies = np.array([9999.0] * warmup + list(latencies_us)) * 1e3
    records = np.zeros(len(latencies), RECORD)
    records["finished_ns"] = np.cumsum(latencies)
    records["started_ns"] = records["finished_ns"] - latencies
    records["scheduled_ns"] = records["started_ns"]
    records["phase"] = [WARMUP] * warmup + [MEASURED] * len(latencies_us)
    name = f"{case.case_id}.{number}.bin"
    (folder / name).write_bytes(records.tobytes())
    return name


def damage_line(folder: Path, number: int) -> Path:
    """Make a line of the only journal, counted from 1, one that nobody understands."""
    (journal,) = (folder / "journal").iterdir()
    lines = journal.read_bytes().split(b"\n")
    lines[number - 1] = lines[number - 1][:-3]
    journal.write_bytes(b"\n".join(lines))
    return journal
