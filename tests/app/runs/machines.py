"""Runs as several machines would have made them: by hand, with known samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.round import RoundResult
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, manifest_of, record

SMALL = {"cpu": "A76", "cores_logical": 4, "memory_bytes": 4 << 30, "virtual_machine": False}
LARGE = {"cpu": "EPYC", "cores_logical": 64, "memory_bytes": 256 << 30, "virtual_machine": True}
OTHER = Case(model="sub.onnx", runtime="fake", axes={"batch": 4})
NETS = [Case(model="add.onnx", runtime=name) for name in ("fake", "ort-cpu")]


def machine(host: str, hardware: Mapping[str, Any] = SMALL) -> dict[str, Any]:
    return {"host": host, "governor": "performance", **hardware}


def made(
    path: Path,
    environment: Mapping[str, Any],
    cases: Sequence[Case] = (CASE,),
    us: float = 10.0,
    rounds: int = 3,
    **plan_changes: Any,
) -> Path:
    """A run in which every case has `rounds` rounds, or none, of eight runs of about `us` each.

    `plan_changes` are other values of the plan, or of the manifest.
    """
    manifest = replace(manifest_of(cases, max(rounds, 1)), environment=environment)
    manifest_values = {
        name: plan_changes.pop(name)
        for name in ("seed", "graphlap_version")
        if name in plan_changes
    }
    plan = manifest.requested_plan.model_copy(
        update=plan_changes | {k: manifest_values[k] for k in ("seed",) if k in manifest_values}
    )
    manifest = replace(manifest, plan=plan.model_dump(mode="json"), **manifest_values)
    with RunFolder.create(path, manifest) as folder:
        folder.begin(environment)
        for number in range(rounds):
            for place, case in enumerate(cases):
                measured(folder, case, number, us * (1 + 0.01 * number) + place)
        write_tables(folder, Rows().of(read_run(path)))
    return path


def measured(folder: RunFolder, case: Case, number: int, us: float) -> RoundResult:
    when = f"2026-11-22T10:{number:02}:00.000"
    return record(folder, case, number, [us] * 8, started_at_utc=when, concurrency=1)


def hosts(run: Run) -> list[tuple[str, str, str]]:
    """Model, runtime and host of each row, and that the run has as many."""
    return [(str(r["model"]), str(r["runtime"]), str(r["host"])) for r in Rows().of(run)]
