"""From a run folder to the source that gives what it still lacks."""

from __future__ import annotations

from app.cases.status import RAN
from app.plan.plan import parse_size
from app.results.folder import RunFolder
from app.results.run import Run
from app.sweep.sources.accuracy import WithAccuracy
from app.sweep.sources.fixed import FixedSweep
from app.sweep.sources.largest import LargestBatch
from app.sweep.sources.operators import WithOperators
from app.sweep.sources.rounds import Schedule
from app.sweep.work.base import Source

Rounds = FixedSweep | LargestBatch


def sources(folder: RunFolder, recorded: Run) -> tuple[Rounds, Source]:
    """The source of the rounds, and that same source with what the plan wants after them."""
    manifest = folder.manifest
    plan = manifest.asked
    schedule = Schedule(
        manifest.cases,
        manifest.rounds,
        manifest.limits,
        manifest.time_limit_s,
        manifest.seed,
        folder.samples,
        parse_size(plan.memory_limit) if plan.memory_limit else 0,
        plan.checked,
        plan.tolerance,
    )
    statuses = {
        case_id: {number: result.status for number, result in rounds.items()}
        for case_id, rounds in recorded.rounds.items()
    }
    rounds: Rounds
    if plan.largest_batch:
        tried = {case_id: known[0] for case_id, known in statuses.items()}
        rounds = LargestBatch(schedule, tried)
    else:
        rounds = FixedSweep(schedule, statuses)
    source: Source = rounds
    ran = [case_id for case_id, known in statuses.items() if not RAN.isdisjoint(known.values())]
    limit_s = manifest.time_limit_s
    if plan.profile_ops:
        source = WithOperators(source, manifest.cases, ran, recorded.operators, limit_s)
    done = list(recorded.accuracies)
    source = WithAccuracy(source, manifest.cases, plan.accuracy, ran, done, limit_s)
    return rounds, source
