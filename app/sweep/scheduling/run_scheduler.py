"""From a run folder to the source that gives what it still lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.analysis.columns.rows import Rows
from app.cases.status import Status
from app.plan.capabilities import complete_plan, parts, scheduler_part
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.sweep.scheduling.checks import Checks
from app.sweep.scheduling.follow_up import FOLLOW_UP_S, FollowUp, RunState
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import (
    Budget,
    FixedRounds,
    PreciseRounds,
    RoundPolicy,
    Spread,
)
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.scheduling.round_scheduler import RoundScheduler
from app.sweep.scheduling.sequential_rounds import SequentialRounds
from app.sweep.scheduling.shares import Cluster, SharedSweep
from app.sweep.work.base import SettledWork, Work
from app.sweep.work.share import Exports as Exported


class RunScheduler:
    """All that a run still lacks: its rounds, then the jobs of one capability after the other.

    Once the budget is over only what is settled without a process is handed out.
    """

    def __init__(self, state: RunState, follow_ups: Sequence[FollowUp]) -> None:
        self.rounds, self._state, self.follow_ups = state.rounds, state, follow_ups
        self._budget = self.rounds.schedule.budget
        self._budget.reserve(FOLLOW_UP_S * sum(job.remaining for job in self.follow_ups))
        self._in_flight = 0

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        """The next work, as `Source` has it."""
        self._in_flight -= len(finished_work)
        for work in finished_work:
            self._state.take(work)
            for job in self.follow_ups:
                job.take(work)
        following = self.rounds.next(finished_work)
        while following is not None and not self._may_begin(following):
            following = self.rounds.next(())
        if following is None and not self._in_flight and self._budget.left_s:
            following = next(filter(None, (job.next() for job in self.follow_ups)), None)
        self._in_flight += following is not None
        return following

    def _may_begin(self, work: Work) -> bool:
        return bool(self._budget.left_s) or isinstance(work, SettledWork)


def build_scheduler(
    folder: RunFolder,
    recorded_run: Run,
    rows: Rows,
    cluster: Cluster | None = None,
    start_s: float | None = None,
    exported: Exported | None = None,
) -> RunScheduler:
    """The scheduler of all that the run of this folder still lacks.

    `rows` are those of the run, which know what was read of its samples. The hosts of
    `cluster` measure, None for this machine. A budget begins at `start_s`, or now. `exported` is
    what the models of a share became. PlanError for a capability that is not here.
    """
    plan = complete_plan(folder.manifest.requested_plan)
    schedule = _schedule_of(folder, start_s, exported or {})
    rounds = _round_scheduler(schedule, recorded_run, rows, folder, cluster)
    state = RunState(rounds, recorded_run)
    makers = () if plan.check else parts("follow_up")
    jobs: list[FollowUp | None] = [make(state) for make in makers]
    return RunScheduler(state, [job for job in jobs if job is not None])


def _round_scheduler(
    schedule: Schedule,
    recorded_run: Run,
    rows: Rows,
    folder: RunFolder,
    cluster: Cluster | None,
) -> RoundScheduler:
    """The scheduler of a check, of a capability, or of the plan's grid on these hosts."""
    plan = recorded_run.manifest.requested_plan
    statuses = _statuses_by_case(recorded_run)
    if plan.check:
        finished_ids = [case_id for case_id, entry in statuses.items() if entry]
        return Checks(schedule, finished_ids, schedule.compile_limit_s)
    make_scheduler = scheduler_part(plan)
    if make_scheduler is not None:
        scheduler: RoundScheduler = make_scheduler(schedule, recorded_run)
        return scheduler
    policy: RoundPolicy = FixedRounds(schedule.rounds)
    if plan.stopping is not None:
        policy = PreciseRounds(plan.stopping, recorded_run, rows)
    elif plan.sequence is not None:
        policy = SequentialRounds(plan, plan.sequence, recorded_run, rows)
    if cluster is not None:
        return SharedSweep(schedule, statuses, policy, recorded=recorded_run, cluster=cluster)
    return FixedSweep(schedule, statuses, policy)


def _schedule_of(folder: RunFolder, start_s: float | None, exported: Exported) -> Schedule:
    """The rounds as the manifest and its plan define them."""
    manifest = folder.manifest
    plan = manifest.requested_plan
    return Schedule(
        cases=manifest.cases,
        rounds=manifest.rounds,
        limits=manifest.limits,
        time_limit_s=manifest.time_limit_s,
        seed=manifest.seed,
        samples_folder=folder.samples,
        plan=plan,
        budget=Budget(plan.budget_s or math.inf, start_s),
        spread=Spread(
            manifest.spread_s,
            plan.least_rounds,
            manifest.contended_spread_s,
        ),
        arrivals_seed=manifest.arrivals_seed,
        exported=exported,
    )


def _statuses_by_case(recorded_run: Run) -> dict[str, dict[int, Status]]:
    """Case id -> the statuses of its rounds, but for those that are to be done again."""
    return {
        case_id: {n: r.status for n, r in rounds.items() if not r.is_tried_again}
        for case_id, rounds in recorded_run.rounds.items()
    }
