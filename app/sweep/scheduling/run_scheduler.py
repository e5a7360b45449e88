"""From a run folder to the source that gives what it still lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.capabilities.largest_batch.search import tries_of
from app.cases.jobs import AccuracyResult, ColdStart
from app.cases.status import RAN, Status
from app.columns.rows import Rows
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Operators
from app.run_folder.run import Run
from app.stats.required_rounds import FIRST_LOOK
from app.sweep.scheduling.checks import Checks
from app.sweep.scheduling.follow_up_policies import (
    FOLLOW_UP_S,
    AccuracyFollowUp,
    ColdStartFollowUp,
    FollowUp,
    HostedOperatorFollowUp,
    OperatorFollowUp,
)
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.hosts import HostSlot
from app.sweep.scheduling.remote_grid import HostedSweep
from app.sweep.scheduling.round_budget import (
    Budget,
    FixedRounds,
    PreciseRounds,
    Spread,
    WithinBudget,
)
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.scheduling.searches import HighestRate, LargestBatch, Tuner
from app.sweep.work.base import Source
from exporters.model_names import is_null
from exporters.size import parse_size

RoundSource = FixedSweep | HostedSweep | LargestBatch | HighestRate | Tuner | Checks
MINIMUM_EXPORT_LIMIT_S = 30.0
"""An export that imports torch first takes ten seconds of a machine that does nothing else."""
EXPORT_LIMIT_S = CHECK_LIMIT_S = COMPILE_LIMIT_S = 600.0
"""Where no limit is given: the largest networks take minutes on a busy machine."""


def build_scheduler(
    folder: RunFolder, recorded: Run, rows: Rows, slots: Sequence[HostSlot] = ()
) -> tuple[RoundSource, tuple[FollowUp, ...], Source]:
    """The source of the rounds, those of what the plan wants after them, and all as one.

    `rows` are those of the run, which know what was read of its samples. `benches` are the hosts
    that measure, none for this machine.
    """
    manifest = folder.manifest
    plan = manifest.requested_plan
    schedule = Schedule(
        manifest.cases,
        manifest.rounds,
        manifest.limits,
        manifest.time_limit_s,
        manifest.seed,
        folder.samples,
        parse_size(plan.memory_limit) if plan.memory_limit else 0,
        _export_limit_s(plan.time_limit_s),
        Budget(plan.budget_s or math.inf),
        plan.checked,
        plan.tolerance,
        plan.chosen_cores,
        plan.lock_memory,
        plan.realtime,
        plan.environments,
        plan.time_limit_s or COMPILE_LIMIT_S,
        parse_size(plan.device_memory_limit) if plan.device_memory_limit else 0,
        Spread(
            manifest.spread_s,
            FIRST_LOOK if plan.stopping else manifest.rounds,
            manifest.contended_spread_s,
        ),
        manifest.seed if manifest.arrivals_seed is None else manifest.arrivals_seed,
    )
    statuses = _statuses_by_case(recorded)
    operators_done = [case_id for case_id, entry in recorded.operators.items() if _is_final(entry)]
    if plan.check:
        checked = [case_id for case_id, entry in statuses.items() if entry]
        checks = Checks(schedule, checked, plan.time_limit_s or CHECK_LIMIT_S)
        return checks, (), checks
    # What comes after the rounds is of models: a null twin has no operators and no answers.
    models = [case for case in manifest.cases if not is_null(case.model)]
    ran = [case_id for case_id, entry in statuses.items() if not RAN.isdisjoint(entry.values())]
    limit_s = manifest.time_limit_s
    rounds: RoundSource
    if plan.largest_batch:
        tries = [item for item in tries_of(recorded) if not item.result.is_tried_again]
        rounds = LargestBatch(schedule, tries)
    elif plan.slo:
        rounds = HighestRate(schedule, recorded)
    elif plan.tune:
        rounds = Tuner(schedule, recorded)
    else:
        rule = plan.stopping
        round_policy = PreciseRounds(rule, recorded, rows) if rule else FixedRounds(manifest.rounds)
        if slots:
            hosted = HostedSweep(schedule, recorded, round_policy, slots)
            if not plan.profile_ops:
                return hosted, (), WithinBudget(hosted, schedule.budget)
            operator_times = HostedOperatorFollowUp(
                hosted, models, operators_done, ran, limit_s, schedule.memory_limit_bytes
            )
            return hosted, (operator_times,), WithinBudget(operator_times, schedule.budget)
        rounds = FixedSweep(schedule, statuses, round_policy)
    follow_ups: list[FollowUp] = []
    source: Source = rounds
    if plan.cold_start is not None:
        cold = ColdStartFollowUp(
            source,
            models,
            ran,
            {
                subject: {number: item for number, item in entry.items() if _is_final(item)}
                for subject, entry in recorded.cold_starts.items()
            },
            limit_s,
            plan.cold_start,
            plan.page_cache,
            manifest.seed,
            plan.chosen_cores,
            schedule.memory_limit_bytes,
        )
        follow_ups.append(cold)
        source = cold
    if plan.profile_ops:
        operators = OperatorFollowUp(
            source, models, ran, operators_done, limit_s, schedule.memory_limit_bytes
        )
        follow_ups.append(operators)
        source = operators
    assessed = [subject for subject, entry in recorded.accuracies.items() if _is_final(entry)]
    late_cases = rounds.compared if isinstance(rounds, Tuner) else tuple
    accuracy = AccuracyFollowUp(
        source,
        models,
        plan.accuracy,
        ran,
        assessed,
        limit_s,
        late_cases,
        schedule.memory_limit_bytes,
    )
    follow_ups.append(accuracy)
    schedule.budget.reserve(FOLLOW_UP_S * sum(policy.remaining for policy in follow_ups))
    return rounds, tuple(follow_ups), WithinBudget(accuracy, schedule.budget)


def _statuses_by_case(recorded: Run) -> dict[str, dict[int, Status]]:
    """Case id -> the statuses of its rounds, but for those that are to be done again."""
    return {
        case_id: {n: r.status for n, r in rounds.items() if not r.is_tried_again}
        for case_id, rounds in recorded.rounds.items()
    }


def _is_final(record: Operators | ColdStart | AccuracyResult) -> bool:
    """Whether a resume leaves it as it is."""
    return not record.transient


def _export_limit_s(requested_s: float | None) -> float:
    return EXPORT_LIMIT_S if requested_s is None else max(requested_s, MINIMUM_EXPORT_LIMIT_S)
