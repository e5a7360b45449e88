"""A plan becomes a run folder: cases spelled out, the manifest written, nothing measured yet."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import psutil

from app.cases.case import Case
from app.machine import engines
from app.machine.environment import describe_host
from app.machine.system import refuse_without_proc
from app.plan.environments import environments_of
from app.plan.expand import expand, sizes_assumed
from app.plan.placing import refuse_misplaced
from app.plan.plan import Plan
from app.plan.tuning import spelled_out
from app.results.fingerprints import fingerprints
from app.results.folder import RunFolder
from app.results.kept_files import kept_files
from app.results.manifest import new_manifest
from app.sweep.cluster import Cluster
from exporters.private import OWNER_ALONE

_SEED_BITS = 63
SEARCH_SHARE = 0.75
"""Of the memory that is free when a search begins, so much is its limit if none is given."""


def begin(
    plan: Plan,
    path: Path | None = None,
    cluster: Cluster | None = None,
    refuse: Callable[[Plan, Sequence[Case]], None] | None = None,
) -> RunFolder:
    """The locked folder of a new run, `graphlap-results/NAME-TIME` unless `path` is given.

    With `cluster` its hosts measure, each of them every case if the plan says so. `refuse` raises
    PlanError for cases that the caller can't use. Raises PlanError or ResultsError before anything
    is written.
    """
    refuse_without_proc()
    plan = spelled_out(plan)
    cases = expand(plan, cluster.runtimes if cluster else ())
    if cluster and plan.per_host:
        cases = cluster.cases_of(cases)
    if refuse is not None:
        refuse(plan, cases)
    plan = plan.model_copy(update={"environments": environments_of(plan)})
    if cluster is None:  # its cores are looked at where they are
        refuse_misplaced(plan)
    engines.refuse_unwritable()
    lengths = plan.lengths
    if plan.largest_batch and not plan.memory_limit:
        available = psutil.virtual_memory().available
        limit = f"{int(available * SEARCH_SHARE) >> 20}MiB"
        plan = plan.model_copy(update={"memory_limit": limit})
    manifest = new_manifest(
        name=plan.name,
        seed=plan.seed or 0,
        rounds=1 if plan.is_search or plan.check else lengths.rounds,
        time_limit_s=lengths.time_limit_s,
        limits=lengths.limits,
        plan=plan,
        cases=cases,
        environment=describe_host(),
        files=kept_files(cases, plan.accuracy),
        fingerprints=fingerprints(
            cases, plan.accuracy, plan.environments, elsewhere=cluster is not None
        ),
        spread_s=0.0 if plan.is_search or plan.check else lengths.spread_s,
        arrivals_seed=arrivals_seed(plan),
        assumed_sizes=sizes_assumed(plan),
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
