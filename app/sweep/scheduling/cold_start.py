"""Cold starts after the rounds: fresh processes of each subject, in a seeded order."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from app.cases.case import Case
from app.cases.jobs import (
    SCOUT,
    ColdStart,
    ColdStartJob,
    PageCache,
    cold_start_subject_of,
)
from app.machine import installed_runtimes
from app.machine.installed_runtimes import runtime
from app.machine.placement import usable_cores
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.round_jobs import (
    cores_for,
    exclusive_needs,
    near_device,
    spare_cores,
)
from app.sweep.work.base import Needs, Source, Work
from app.sweep.work.follow_ups import ColdStartWork
from exporters.types import ExportedModel
from runtimes.options import sessions_of
from runtimes.registry import parse_spec
from runtimes.session.session_group import options_on


class ColdStartFollowUp(FollowUp):
    """`source` until it is exhausted, then `count` processes of each subject of the cases.

    Number by number, in a seeded order each, so that drift of the machine does not follow the
    subject. The first of each in a run is a scout, which is not counted: it brings the files in,
    and tells which they are where they are to be `dropped` before all others. `recorded_starts` are
    those recorded that are not to be tried again, by subject and number; a subject of which one
    gave no answer gets no more. `cores` are those that were chosen, where they were.
    """

    kind = ColdStartWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        ran: Iterable[str],
        recorded_starts: Mapping[str, Mapping[int, ColdStart]],
        time_limit_s: float,
        count: int,
        page_cache: PageCache,
        seed: int,
        cores: tuple[int, ...] = (),
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._cores = cores
        self._page_cache = page_cache
        self._files: dict[str, tuple[str, ...]] = {}
        self._failed = {
            subject
            for subject, starts in recorded_starts.items()
            if any(start.reason for start in starts.values())
        }
        members: dict[str, list[Case]] = {}
        for case in cases:
            members.setdefault(cold_start_subject_of(case).case_id, []).append(case)
        self._members = members
        numbers: dict[str, list[int]] = {}
        for subject in members:
            missing = [n for n in range(count) if n not in recorded_starts.get(subject, {})]
            numbers[subject] = [SCOUT, *missing] if missing else []
        self._waiting: deque[tuple[str, int]] = deque()
        for number in (SCOUT, *range(count)):
            order = [
                subject for subject, missing_numbers in numbers.items() if number in missing_numbers
            ]
            random.Random(f"{seed}:cold:{number}").shuffle(order)
            self._waiting.extend((subject, number) for subject in order)

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        for work in finished_work:
            if isinstance(work, ColdStartWork) and work.result is not None:
                if work.result.reason:
                    self._failed.add(work.result.subject)
                elif work.job.process == SCOUT:
                    self._files[work.result.subject] = work.result.files
        return super().next(finished_work)

    def _next_job(self) -> Work | None:
        while self._waiting:
            subject, number = self._waiting[0]
            ran = [case for case in self._members[subject] if case.case_id in self._ran]
            if not ran or subject in self._failed:
                self._waiting.popleft()
                continue
            outcome = self._model_or_export(ran[0], [self._members[s][0] for s, _ in self._waiting])
            if isinstance(outcome, Work):
                return outcome
            self._waiting.popleft()
            if outcome is not None:
                return self._work(cold_start_subject_of(ran[0]), number, outcome)
        return None

    def _work(self, subject: Case, number: int, model: ExportedModel) -> ColdStartWork:
        spec = parse_spec(subject.runtime)
        engine = runtime(spec.name)
        sessions = sessions_of(options_on(engine, spec.device), subject.options)
        drops = self._page_cache == "dropped" and number != SCOUT
        job = ColdStartJob(
            subject,
            number,
            model,
            begun_ns=0,
            affinity=self._cores
            or cores_for(
                subject.threads * sessions + spare_cores(engine) if subject.threads else 0,
                near_device(engine, spec.device, usable_cores()),
            ),
            dropped=self._files.get(subject.case_id, ()) if drops else (),
            cache_dir=str(installed_runtimes.folder()),
        )
        needs = Needs(exclusive_needs(engine, spec.device))
        return ColdStartWork(job, self._time_limit_s, needs, self._memory_limit_bytes)


def follow_up_of(source: Source, state: RunState) -> ColdStartFollowUp | None:
    """The processes that are missing; None where the plan wants none."""
    plan, manifest = state.plan, state.recorded.manifest
    if plan.cold_start is None:
        return None
    return ColdStartFollowUp(
        source,
        state.models,
        state.ran,
        {
            subject: {number: start for number, start in starts.items() if not start.transient}
            for subject, starts in state.recorded.cold_starts.items()
        },
        manifest.time_limit_s,
        plan.cold_start,
        plan.page_cache,
        manifest.seed,
        plan.chosen_cores,
        state.rounds.schedule.memory_limit_bytes,
    )
