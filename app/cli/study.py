"""`graphlap study NAME`: measure a study, by parts if it has several plans, and write its page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.errors import PlanError, ResultsError, suggestion
from app.cli.request import run_headless
from app.formatting.text import printable
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.settings.table import by_key
from app.plan.studies import load_study
from app.present.console.answer.outcome import INTERRUPTED, Then
from app.present.console.export_formats import DAMAGED, OK
from app.present.console.streams import ResilientStream
from app.present.studies.page import page, page_of_parts, told, written
from app.present.studies.study import (
    Found,
    Study,
    Whole,
    found_in,
    found_of,
    refuse_others,
    study,
    whole,
)
from app.run_folder.manifest import MANIFEST
from app.run_folder.run import Run
from app.runs.reader import read_run
from app.sweep.run_creation import create_run, new_path
from app.sweep.scheduling.shares import cluster_of


def run_parts(whole: Whole, flags: argparse.Namespace) -> int:
    """Measure the parts that the flags ask for, or take the run that they name; the exit code.

    PlanError or ResultsError before anything is written.
    """
    if flags.paths:
        return _tell(whole, Path(flags.paths[0]), {})
    root = Path(flags.resume) if flags.resume is not None else _create_root(whole, flags)
    parts, code, results_by_part = _parts_in(whole, root), 0, dict[str, Found]()
    for number, part in enumerate(parts, 1):
        folder = root / whole.folder_of(part)
        log = ResilientStream(sys.stderr)
        log.write(printable(f"{part.title} ({number} of {len(parts)}): {folder}") + "\n")
        log.flush()
        again = parse(["--study", part.name, "--resume", str(folder)])
        for name in ("export", "strict", "cache_limit", "debug"):
            setattr(again, name, getattr(flags, name))
        end_code = run_headless(again, _writer(part, results_by_part))
        code = max(code, end_code)
        if end_code == INTERRUPTED:
            break
    return _tell(whole, root, results_by_part) or code


def _writer(part: Study, results_by_part: dict[str, Found]) -> Then:
    """Writes a part's page and prints nothing: the whole is told at the end, of what is
    `results_by_part`."""

    def write(run: Run, measurements: Sequence[MeasuredCase]) -> int:
        found = found_of(run, measurements, load_study(part.name), part.one_host)
        results_by_part[part.name] = found
        written(found.run.path, page(part, found), part.files(found))
        return 0

    return write


def _create_root(whole: Whole, flags: argparse.Namespace) -> Path:
    """The folder of a new run, with that of each part."""
    plans = _plans(whole, flags)
    for plan in plans.values():
        expand(plan)
    # Called like the whole, as the folder is to be.
    named_plan = next(iter(plans.values())).model_copy(update={"name": f"study-{whole.name}"})
    root = Path(flags.out) if flags.out else new_path(named_plan)
    if root.exists() and any(root.iterdir()):
        raise ResultsError(f"{root} is there already", "give another folder with --out")
    for part in whole.parts:
        if part.name in plans:
            with cluster_of(plans[part.name]) as cluster:
                create_run(plans[part.name], root / whole.folder_of(part), cluster).close()
    return root


def _plans(whole: Whole, flags: argparse.Namespace) -> dict[str, Plan]:
    """Each part's plan by its name, with its share of the budget; a part that has none of the
    models which are asked for is left out. PlanError for a model that no part has."""
    requested_models = [word.strip() for word in (flags.models or "").split(",") if word.strip()]
    models = {
        part.name: {model for grid in load_study(part.name).sweeps for model in grid.models}
        for part in whole.parts
    }
    known_models = sorted(set().union(*models.values()))
    for model in requested_models:
        if model not in known_models:
            raise PlanError(f"the study has no model {model!r}", suggestion(model, known_models))
    plans: dict[str, Plan] = {}
    for part in whole.parts:
        part_models = [model for model in requested_models if model in models[part.name]]
        if part_models or not requested_models:
            settings = _accepted_settings(whole, part, flags)
            settings |= {"study": part.name, "models": ",".join(part_models) or None}
            plans[part.name] = plan_from_options(argparse.Namespace(**settings))
    shares = dict(zip((part.name for part in whole.parts), whole.shares, strict=True))
    total = sum(shares[name] for name in plans)
    return {name: _with_share(plan, shares[name] / total) for name, plan in plans.items()}


def _accepted_settings(whole: Whole, part: Study, flags: argparse.Namespace) -> dict[str, Any]:
    """The flags without what this part fixes and another part leaves open, with a line for each."""
    settings = dict(vars(flags))
    others = [load_study(other.name).fixed for other in whole.parts]
    for key, reason in load_study(part.name).fixed.items():
        row = by_key()[key]
        if settings.get(row.dest) is not None and not all(key in fixed for fixed in others):
            sys.stderr.write(f"{part.name} {reason}: {row.flag} is not used there\n")
            settings[row.dest] = None
    return settings


def _with_share(plan: Plan, share: float) -> Plan:
    if plan.budget_s is None:
        return plan
    return plan.model_copy(update={"budget_s": plan.budget_s * share})


def _parts_in(whole: Whole, root: Path) -> list[Study]:
    """Those that the run has; ResultsError where it has none."""
    parts = [part for part in whole.parts if (root / whole.folder_of(part) / MANIFEST).exists()]
    if not parts:
        raise ResultsError(
            f"{root} has no part of the study {whole.name}",
            f"name a folder that graphlap study {whole.name} made",
        )
    return parts


def _tell(whole: Whole, root: Path, results_by_part: dict[str, Found]) -> int:
    """Write the pages that are not there yet and print that of the whole."""
    for part in _parts_in(whole, root):
        if part.name not in results_by_part:
            folder = root / whole.folder_of(part)
            found = found_in(folder, load_study(part.name), part.one_host)
            results_by_part[part.name] = found
            written(found.run.path, page(part, found), part.files(found))
    blocks = list(page_of_parts(whole, results_by_part))
    is_damaged = any(results.damaged for results in results_by_part.values())
    return told(blocks, written(root, blocks)) or (DAMAGED if is_damaged else OK)


def run_study(flags: argparse.Namespace) -> int:
    """Measure what the flags ask for, or take the run that they name; returns the exit code.

    PlanError or ResultsError before anything is written.
    """
    parts = whole(flags.study)
    if parts is not None:
        return run_parts(parts, flags)
    definition, plan = study(flags.study), load_study(flags.study)
    if flags.paths:
        return tell(definition, found_in(Path(flags.paths[0]), plan, definition.one_host))
    if flags.resume is not None:
        # before it is gone on with
        refuse_others(read_run(Path(flags.resume)), plan)

    def then(run: Run, measurements: Sequence[MeasuredCase]) -> int:
        return tell(definition, found_of(run, measurements, plan, definition.one_host))

    return run_headless(flags, then)


def tell(definition: Study, results: Found) -> int:
    """Write the page into the run's folder and print it; DiskError if it can't be written."""
    blocks = list(page(definition, results))
    paths = written(results.run.path, blocks, definition.files(results))
    return told(blocks, paths) or (DAMAGED if results.damaged else OK)
