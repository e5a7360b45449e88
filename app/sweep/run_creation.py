"""Creation of a run folder from a plan or from another run, before anything is measured."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import PlanError
from app.machine import installed_runtimes
from app.machine.environment import describe_host
from app.machine.system import refuse_without_proc
from app.plan.capabilities import complete_plan
from app.plan.expand import expand, sizes_assumed
from app.plan.plan import Plan
from app.plan.runtime_options import with_search_values
from app.plan.runtime_selection import environments_of
from app.plan.validation import reject_misplaced
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import (
    ArchivedFile,
    Manifest,
    archive_entries,
    fingerprints,
    new_manifest,
)
from app.run_folder.run import Run
from app.runs.reader import read_run
from app.sweep.resumption import is_gone, reject_changed
from app.sweep.scheduling.shares import Cluster
from exporters.file_access import OWNER_ALONE
from exporters.model_names import factory_path, is_factory_file

_SEED_BITS = 63


def folder_of(
    flags: argparse.Namespace,
    plan: Plan,
    manifest: Manifest | None,
    cluster: Cluster | None,
    reject: Callable[..., None],
) -> RunFolder:
    """The locked folder to write to: a new one for a new plan, one like the run of `manifest`, or
    this itself to resume. `reject` raises PlanError as of `create_run`."""
    if manifest is not None:
        reject(plan, manifest.cases, resumed=flags.resume is not None)
    if flags.resume is not None:
        if cluster is None:
            reject_misplaced(plan)
        environments_of(plan)
        installed_runtimes.refuse_unwritable()
        return RunFolder.reopen(Path(flags.resume), manifest)
    out = Path(flags.out) if flags.out else None
    if manifest is not None:
        return repeat(Path(flags.plan), out)
    return create_run(plan, out, cluster, reject)


def create_run(
    plan: Plan,
    path: Path | None = None,
    cluster: Cluster | None = None,
    reject: Callable[[Plan, Sequence[Case]], None] | None = None,
) -> RunFolder:
    """The locked folder of a new run, `graphlap-results/NAME-TIME` unless `path` is given.

    With `cluster` its hosts measure, each of them every case if the plan says so. `reject` raises
    PlanError for cases that the caller can't use. Raises PlanError or ResultsError before anything
    is written.
    """
    refuse_without_proc()
    plan = complete_plan(with_search_values(plan))
    cases = expand(plan, cluster.runtimes if cluster else ())
    if cluster and plan.per_host:
        cases = cluster.cases_of(cases)
    if reject is not None:
        reject(plan, cases)
    plan = plan.model_copy(update={"environments": environments_of(plan)})
    if cluster is None:  # its cores are looked at where they are
        reject_misplaced(plan)
    lengths, is_spread = plan.lengths, not (plan.is_search or plan.check)
    return _new_folder(
        path,
        plan,
        cases,
        cluster is not None,
        seed=plan.seed or 0,
        rounds=lengths.rounds if is_spread else 1,
        time_limit_s=lengths.time_limit_s,
        limits=lengths.limits,
        spread_s=lengths.spread_s if is_spread else 0.0,
        contended_spread_s=lengths.contended_spread_s if is_spread else 0.0,
        assumed_sizes=sizes_assumed(plan),
    )


def _new_folder(
    path: Path | None, plan: Plan, cases: Sequence[Case], is_remote: bool, **facts: Any
) -> RunFolder:
    """The locked folder of a new run of these cases, with its lengths and the like as `facts`."""
    installed_runtimes.refuse_unwritable()
    manifest = new_manifest(
        name=plan.name,
        plan=plan,
        cases=cases,
        environment=describe_host(),
        files=archive_entries(cases, plan.accuracy),
        fingerprints=fingerprints(cases, plan.accuracy, plan.environments, is_remote=is_remote),
        arrivals_seed=arrivals_seed(plan),
        **facts,
    )
    return RunFolder.create(path or new_path(plan), manifest)


def arrivals_seed(plan: Plan) -> int:
    """What the moments of arriving requests are drawn from: another number in each run, so that
    runs of one plan differ by it as they would in service, or the seed that the plan gives."""
    return secrets.randbits(_SEED_BITS) if plan.seed is None else plan.seed


def new_path(plan: Plan) -> Path:
    """A folder made here, so that runs which begin in the same second do not share one."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    first = Path("graphlap-results") / f"{plan.name}-{stamp}"
    with suppress(OSError):  # what is wrong with it, the folder's maker says
        first.parent.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = first if number == 1 else first.with_name(f"{first.name}-{number}")
            with suppress(FileExistsError):
                path.mkdir(mode=OWNER_ALONE)
                return path
    return first


def repeat(run_path: Path, path: Path | None = None) -> RunFolder:
    """The locked folder of the new run, with the cases, lengths and seed of the old; requests
    arrive at other moments, unless its plan gave a seed.

    Raises PlanError or ResultsError before anything is written.
    """
    run = read_run(run_path)
    previous, plan = run.manifest, run.manifest.requested_plan
    kept_files = {file.path: file for file in previous.files}
    environments_of(plan)
    reject_changed(run, copies=True)
    cases = [_with_its_files(case, run, kept_files) for case in previous.cases]
    accuracy = _available_path(plan.accuracy, run, kept_files)
    if not plan.cluster:
        reject_misplaced(plan)
    return _new_folder(
        path,
        plan.model_copy(update={"accuracy": accuracy}),
        cases,
        bool(plan.cluster),
        seed=previous.seed,
        rounds=previous.rounds,
        time_limit_s=previous.time_limit_s,
        limits=previous.limits,
        repeats=previous.run_id,
        spread_s=previous.spread_s,
        contended_spread_s=previous.contended_spread_s,
        assumed_sizes=previous.assumed_sizes,
    )


def _with_its_files(case: Case, run: Run, copies: Mapping[str, ArchivedFile]) -> Case:
    """The case with each file that is no longer there taken from the run folder."""
    if is_factory_file(case.model):
        path = str(factory_path(case.model))
        file = copies.get(path)
        if file is not None and is_gone(file):
            raise PlanError(
                f"{path}, which {run.path} measured, is not there",
                f"copy {run.path / file.kept} to that place",
            )
    return replace(case, given=case.given.moved(lambda path: _available_path(path, run, copies)))


def _available_path(path: str, run: Run, copies: Mapping[str, ArchivedFile]) -> str:
    """Where the file is: its own place, or its copy in the run where that is empty."""
    file = copies.get(path)
    if file is None or not file.kept or not is_gone(file):
        return path
    return str((run.path / file.kept).absolute())
