"""The source of a check: exports first, then the cases, one runtime after another.

A runtime's cases follow each other, so that its engine is imported once or twice and then serves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

from app.cases.case import Case
from app.cases.jobs import CheckJob
from app.cases.round import RoundResult
from app.cases.status import Status
from app.machine import installed_runtimes
from app.sweep.scheduling.exports import Exports
from app.sweep.scheduling.round_jobs import (
    Schedule,
    as_status,
    early_refusal,
    settled_round,
    unfit,
)
from app.sweep.scheduling.round_scheduler import RoundScheduler
from app.sweep.work.base import Work
from app.sweep.work.checking import MAXIMUM_CHECKS, CheckWork, SettledCheck
from runtimes.registry import parse_spec

CHECK_S = 1.0
"""A first guess of what compiling a case takes, the import of its engine shared by many."""


class Checks(RoundScheduler):
    """`finished_ids` are those of the cases that are recorded, `time_limit_s` bounds each check."""

    kind = CheckWork.kind

    def __init__(
        self, schedule: Schedule, finished_ids: Collection[str], time_limit_s: float
    ) -> None:
        self.schedule = schedule
        self._time_limit_s = time_limit_s
        self._remaining = {c.case_id: c for c in schedule.cases if c.case_id not in finished_ids}
        self.exports = Exports(schedule, checked=False)
        self._settled_checks: deque[SettledCheck] = deque()
        open_cases = []
        for case in self._remaining.values():
            refusal = early_refusal(schedule, case, check=True)
            if refusal is None:
                open_cases.append(case)
            else:
                self._settled_checks.append(
                    SettledCheck(case, settled_round(schedule, case, 0, *refusal).result)
                )
        runtimes = list(dict.fromkeys(case.runtime for case in open_cases))
        self._waiting = deque(sorted(open_cases, key=lambda case: runtimes.index(case.runtime)))
        self.exports.add((case, [case.axes]) for case in open_cases)

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        for work in finished_work:
            self.exports.take(work)
            if isinstance(work, CheckWork | SettledCheck) and work.result is not None:
                self.take(work.result)
        if self._settled_checks:
            return self._settled_checks.popleft()
        if (export := self.exports.next(always=True)) is not None:
            return export
        if self.exports.in_flight or not self._waiting:
            return None
        return self._check(self._waiting.popleft())

    def planned_rounds(self, case: Case) -> int:
        return 1

    def all_rounds_left(self) -> int:
        return len(self._remaining)

    def rounds_total(self, recorded_count: int) -> int:
        return len(self.schedule.cases)

    @property
    def guess_s(self) -> float:
        return CHECK_S

    @property
    def at_once(self) -> int:
        return MAXIMUM_CHECKS

    def take(self, result: RoundResult) -> None:
        self._remaining.pop(result.case_id, None)

    def _check(self, case: Case) -> Work:
        reply = self.exports.models[case.model, case.precision]
        if reply.model is None:
            return self._settle(case, as_status(reply.status), reply.reason)
        engine = installed_runtimes.runtime(parse_spec(case.runtime).name).engine
        if reason := unfit(reply.model, case.axes, engine):
            return self._settle(case, "export_failed", reason)
        job = CheckJob(case, reply.model, str(installed_runtimes.folder()))
        return CheckWork(job, self._time_limit_s, self.schedule.memory_limit_bytes)

    def _settle(self, case: Case, status: Status, reason: str) -> SettledCheck:
        return SettledCheck(case, settled_round(self.schedule, case, 0, status, reason).result)
