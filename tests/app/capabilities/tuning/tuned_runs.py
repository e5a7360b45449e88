"""Run folders of searches over options whose rounds are written, not measured."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.capabilities.tuning.answer import TuneResults, tune_results
from app.capabilities.tuning.search import tunings
from app.cases.case import Case
from app.cases.round import Check, RoundResult
from app.cases.status import Status
from app.plan.expand import expand
from app.plan.plan import Plan
from app.plan.runtime_options import with_search_values
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported, SearchCase
from app.runs.reader import read_run
from tests.app.analysis.columns.filled import MODEL
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

RUNS = 40
EXPORTED = replace(MODEL, axes={"batch": 1}, sequence=None)
GRID = {
    "models": ("mlp",),
    "runtimes": ("fake",),
    "threads": (0, 1),
    "options": {"fake.latency_us": (200.0, 100.0, 400.0), "fake.sessions": (1,)},
}


def new_tune(path: Path, tune: str, grid: dict[str, Any] = GRID, **plan: Any) -> RunFolder:
    """The folder of a run that has measured nothing yet."""
    requested_plan = with_search_values(
        Plan(**{"sweeps": (Sweep(**grid),), "tune": tune, "seed": 3, **plan})
    )
    return RunFolder.create(path, manifest_of(expand(requested_plan), 1, requested_plan))


def latency_us(case: Case) -> float:
    """What the fake runtime's script says; a thread of one's own takes a tenth more."""
    base_us = float(case.options.get("latency_us", 100.0))
    return base_us * (1.1 if case.threads else 1.0)


def play(
    folder: RunFolder,
    cost_us: Callable[[Case], float] = latency_us,
    most_rounds: int = 10_000,
    status: Callable[[Case], Status] = lambda case: "ok",
    error: Callable[[Case], float] = lambda case: 1e-6,
) -> int:
    """Write what the searches ask for until they are over or had so many; how many were written."""
    folder.begin(ENVIRONMENT)
    run = read_run(folder.path)
    results: dict[str, dict[int, RoundResult]] = {c: dict(r) for c, r in run.rounds.items()}
    for case in run.manifest.cases:
        for precision in run.manifest.requested_plan.sweeps[0].precisions:
            folder.record(ModelExported(case.model, precision, EXPORTED))
    run = replace(read_run(folder.path), rounds=results)
    case_ids, rounds_written = set(results), 0
    for search in tunings(run):
        while rounds_written < most_rounds and (following := search.of(run).following) is not None:
            case, number = following
            if case.case_id not in case_ids and case not in run.manifest.cases:
                folder.record(SearchCase(case))
            case_ids.add(case.case_id)
            noise = random.Random(f"{case.case_id}:{number}").gauss(1.0, 0.01)
            check = Check("torch", 0.0, error(case), 1.0, 1e-4, True)
            outcome = status(case)
            latencies = [cost_us(case) * noise] * RUNS if outcome == "ok" else []
            reason = "" if outcome == "ok" else "the engine said no: ask it why"
            result = record(folder, case, number, latencies, outcome, reason=reason, check=check)
            results.setdefault(case.case_id, {})[number] = result
            rounds_written += 1
    return rounds_written


def found_in(folder: RunFolder) -> TuneResults:
    """As someone sees it who reads the folder anew."""
    results = tune_results(read_run(folder.path))
    assert results is not None
    return results
