"""From a run folder to the job source that gives what it still lacks."""

from __future__ import annotations

from app.cases.status import RAN
from app.plan.plan import parse_size
from app.results.folder import RunFolder
from app.results.reader import Run
from app.sweep.jobs import JobSource
from app.sweep.rounds import Schedule
from app.sweep.sources.accuracy import WithAccuracy
from app.sweep.sources.fixed import FixedSweep
from app.sweep.sources.largest import LargestBatch
from app.sweep.sources.operators import WithProfiles

Rounds = FixedSweep | LargestBatch


def sources(folder: RunFolder, recorded: Run) -> tuple[Rounds, JobSource]:
    """The source of the rounds, and that same source with what the plan wants after them."""
    manifest = folder.manifest
    plan = manifest.plan
    schedule = Schedule(
        manifest.cases,
        manifest.rounds,
        manifest.limits,
        manifest.time_limit_s,
        manifest.seed,
        folder.samples,
        parse_size(limit) if (limit := str(plan.get("memory_limit", ""))) else 0,
    )
    statuses = {
        case_id: {number: result.status for number, result in rounds.items()}
        for case_id, rounds in recorded.rounds.items()
    }
    rounds: Rounds
    if plan.get("largest_batch"):
        tried = {case_id: known[0] for case_id, known in statuses.items()}
        rounds = LargestBatch(schedule, tried)
    else:
        rounds = FixedSweep(schedule, statuses)
    source: JobSource = rounds
    ran = [case_id for case_id, known in statuses.items() if not RAN.isdisjoint(known.values())]
    if plan.get("profile_ops"):
        source = WithProfiles(source, manifest.cases, ran, recorded.profiles, manifest.time_limit_s)
    source = WithAccuracy(
        source,
        manifest.cases,
        str(plan.get("accuracy", "")),
        ran=ran,
        done=list(recorded.accuracies),
        time_limit_s=manifest.time_limit_s,
    )
    return rounds, source
