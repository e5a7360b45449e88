"""Cold starts after the rounds: fresh processes, number by number."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from app.cases.case import Case
from app.cases.jobs import (
    SCOUT,
    ColdStart,
    ColdStartJob,
    cold_start_subject_of,
)
from app.formatting import text
from app.formatting.case_labels import FILE_NAMES, ModelNames, case_label
from app.machine import installed_runtimes
from app.machine.installed_runtimes import runtime
from app.machine.placement import usable_cores
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.round_jobs import cores_for, exclusive_needs, near_device, spare_cores
from app.sweep.work.base import Needs, Work
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.process import FollowUpWork
from exporters.types import ExportedModel
from runtimes.options import sessions_of
from runtimes.registry import parse_spec
from runtimes.session.session_group import options_on


class ColdStartWork(FollowUpWork[ColdStart]):
    """`result` has the phases, or the reason why there are none. A scout's is not recorded."""

    kind = "cold_start"
    result_type = ColdStart
    process_name = "the cold start's process"
    job: ColdStartJob

    def __init__(
        self, job: ColdStartJob, time_limit_s: float, needs: Needs, memory_limit_bytes: int = 0
    ) -> None:
        super().__init__(job, job.subject, time_limit_s, memory_limit_bytes)
        self.needs = needs

    def start(self, place: ThisMachine) -> None:
        self.job = replace(self.job, begun_ns=time.monotonic_ns())
        super().start(place)

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if self.result is not None and (self.job.process != SCOUT or self.result.reason):
            yield self.result

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        number = "before the first" if self.job.process == SCOUT else f"{self.job.process + 1}"
        label = f"cold start {number} of {case_label(self.job.subject, models)}"
        result = self.result
        if result is None:
            return f"{label} was not finished: {self._why_dropped}"
        if result.reason:
            return f"{label} gave no answer"
        return f"{label}: {text.time_text(result.total_ms / 1e3)}"

    def _failure(self, reason: str, transient: bool) -> ColdStart:
        subject, process = self.job.subject.case_id, self.job.process
        return ColdStart(subject, process, reason=reason, transient=transient)


class ColdStartFollowUp(FollowUp):
    """As many processes of each subject as the plan wants.

    Number by number, in a seeded order each, so that drift of the machine does not follow the
    subject. The first of each in a run is a scout, which is not counted: it brings the files in,
    and tells which they are where they are to be `dropped` before all others. A subject of which
    one gave no answer gets no more.
    """

    kind = ColdStartWork.kind

    def __init__(self, state: RunState) -> None:
        super().__init__(state)
        plan, count = state.plan, state.plan.cold_start or 0
        self._cores, self._page_cache = plan.chosen_cores, plan.page_cache
        self._files: dict[str, tuple[str, ...]] = {}
        recorded_starts = {
            subject: {number: start for number, start in starts.items() if not start.transient}
            for subject, starts in state.recorded.results.get(ColdStart, {}).items()
        }
        self._failed = {
            subject
            for subject, starts in recorded_starts.items()
            if any(start.reason for start in starts.values())
        }
        members: dict[str, list[Case]] = {}
        for case in state.models:
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
            random.Random(f"{state.recorded.manifest.seed}:cold:{number}").shuffle(order)
            self._waiting.extend((subject, number) for subject in order)

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def take(self, work: Work) -> None:
        if isinstance(work, ColdStartWork) and work.result is not None:
            if work.result.reason:
                self._failed.add(work.result.subject)
            elif work.job.process == SCOUT:
                self._files[work.result.subject] = work.result.files

    def next(self) -> Work | None:
        while self._waiting:
            subject, number = self._waiting[0]
            ran = [case for case in self._members[subject] if case.case_id in self.ran]
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
        return ColdStartWork(job, self.time_limit_s, needs, self.memory_limit_bytes)


def cold_start_follow_up(state: RunState) -> ColdStartFollowUp | None:
    """The processes that are missing; None where the plan wants none."""
    return None if state.plan.cold_start is None else ColdStartFollowUp(state)
