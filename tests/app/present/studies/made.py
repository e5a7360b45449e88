"""Run folders of a study made by hand: its cases with known samples, some with none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.status import Status
from app.plan.expand import expand
from app.plan.plan import parse_plan
from app.plan.studies import adjust_grid, load_study, with_devices
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import new_manifest
from tests.app.run_folder.runs import ENVIRONMENT, record

SAMPLES = 400
"""Enough for a p99 to be claimed."""


def make_run(
    path: Path,
    study: str,
    runtimes: list[str],
    latency_us: Callable[[Case], float | Status | None],
    *,
    rounds: int = 1,
    budget_s: float | None = None,
    load: float = 0.5,
    **settings: list[object],
) -> tuple[Case, ...]:
    """A run of the whole study with one round of each case: runs of this latency, or how it ended;
    None is a case that was not come to. The machine has one core and this load. Gives the cases."""
    data = load_study(study).model_dump(exclude_unset=True)
    overrides = {"runtimes": runtimes} if runtimes else {}
    grids = [adjust_grid(grid, {**overrides, **settings}) for grid in data["sweeps"]]
    data["sweeps"] = [part for grid in grids for part in with_devices(grid)]
    plan = parse_plan({**data, "budget_s": budget_s, "rounds": rounds}, study)
    cases = expand(plan)
    manifest = new_manifest(
        name=plan.name,
        seed=1,
        rounds=rounds,
        time_limit_s=60.0,
        limits=plan.lengths.limits,
        plan=plan,
        cases=cases,
        environment={**ENVIRONMENT, "cores_usable": 1},
    )
    with RunFolder.create(path, manifest) as folder:
        for case in cases:
            outcome = latency_us(case)
            if isinstance(outcome, str):
                record(folder, case, 0, status=outcome, reason="as it was told")
            elif outcome is not None:
                clock = "simulated" if case.runtime.startswith("fpga") else "wall"
                facts: dict[str, Any] = {
                    "clock": clock,
                    "boundary": "host",
                    "environment": {"load_1min": load},
                }
                record(folder, case, 0, [outcome] * SAMPLES, **facts)
    return cases


def tables(page: str) -> list[list[list[str]]]:
    """The tables of a page in Markdown, each as rows of cells, its headings the first."""
    result: list[list[list[str]]] = []
    is_table = False
    for line in page.splitlines():
        if line.startswith("|"):
            if not is_table:
                result.append([])
            cells = [cell.strip().replace("\\", "") for cell in line.split("|")[1:-1]]
            if set("".join(cells)) - set("-:"):
                result[-1].append(cells)
        is_table = line.startswith("|")
    return result
