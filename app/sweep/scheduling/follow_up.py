"""Follow-up jobs: what a run does after its last round, one kind after the other: operator times,
accuracies and cold starts."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from app.cases.case import Case
from app.cases.jobs import (
    SCOUT,
    AccuracyJob,
    ColdStartJob,
    OperatorJob,
    cold_start_subject_of,
    subject_of,
)
from app.cases.status import RAN
from app.machine import installed_runtimes
from app.machine.installed_runtimes import runtime
from app.machine.placement import usable_cores
from app.plan.models import data_for
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.sweep.scheduling.round_jobs import (
    cores_for,
    exclusive_needs,
    export_work,
    near_device,
    spare_cores,
)
from app.sweep.scheduling.round_scheduler import RoundScheduler
from app.sweep.scheduling.shares import SharedSweep
from app.sweep.work.base import Needs, Source, Work
from app.sweep.work.export import ExportWork
from app.sweep.work.follow_ups import AccuracyWork, ColdStartWork, OperatorWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.model_names import is_null
from exporters.types import ExportedModel, axes_key
from runtimes.options import SESSIONS, sessions_of
from runtimes.registry import parse_spec
from runtimes.session.session_group import options_on

FOLLOW_UP_S = 4.0
"""A first guess of what operator times or an accuracy take: a process, an engine, some runs."""


@dataclass(frozen=True, slots=True)
class RunState:
    """What follow-up jobs go on from: `rounds` schedules the rounds, `recorded` is on disk."""

    rounds: RoundScheduler
    recorded: Run

    @property
    def plan(self) -> Plan:
        return self.recorded.manifest.requested_plan

    @property
    def models(self) -> list[Case]:
        """The cases without no-op twins, which have no operators and no answers."""
        return [case for case in self.recorded.manifest.cases if not is_null(case.model)]

    @property
    def ran(self) -> list[str]:
        """The ids of the cases that are recorded to give outputs."""
        return [
            case_id
            for case_id, rounds in self.recorded.rounds.items()
            if any(r.status in RAN and not r.is_tried_again for r in rounds.values())
        ]


class FollowUp(ABC):
    """`source` until it is exhausted, then what `_next_of_ours` gives.

    `kind` is that of its own work.
    """

    kind: ClassVar[str]

    def __init__(self, source: Source, state: RunState) -> None:
        self._source = source
        self._ran = set(state.ran)
        self._time_limit_s = state.recorded.manifest.time_limit_s
        self._memory_limit_bytes = state.rounds.schedule.memory_limit_bytes
        self._models: dict[tuple[str, str], ExportReply] = {}
        self._in_flight = 0
        self._current: Work | None = None

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        self._in_flight -= len(finished_work)
        for work in finished_work:
            if isinstance(work, ExportWork) and work.reply is not None:
                self._models[work.request.model, work.request.precision] = work.reply
            elif isinstance(work, RoundWork) and work.result and work.result.status in RAN:
                self._ran.add(work.result.case_id)
        following = self._source.next([work for work in finished_work if work is not self._current])
        if following is None and not self._in_flight:
            following = self._current = self._next_job()
        if following is not None:
            self._in_flight += 1
        return following

    def know(self, models: Mapping[tuple[str, str], ExportReply]) -> None:
        """What models became elsewhere, which is not to be exported here."""
        self._models.update(models)

    @property
    @abstractmethod
    def remaining(self) -> int:
        """How much work of its own it may still give, at most."""

    @abstractmethod
    def _next_job(self) -> Work | None:
        """The next work once the wrapped source has none and nothing is in flight."""

    def _model_or_export(self, case: Case, waiting: Sequence[Case]) -> ExportedModel | Work | None:
        """The model with a reference for this case, the export that brings it, or None if there
        can be none; a resumed run exports only what its rounds still need.

        `waiting` are the cases that are to follow: the export is for all that are of the model.
        """
        reply = self._models.get((case.model, case.precision))
        if reply is None or _lacks(reply, case):
            sizes = (c.axes for c in (case, *waiting) if _same_model(c, case))
            return self._export(case, list({axes_key(axes): axes for axes in sizes}.values()))
        return reply.model

    def _export(self, case: Case, points: Sequence[Mapping[str, int]]) -> ExportWork:
        """The model of a case whose rounds this run did not have to measure."""
        # Its outputs are compared with nothing here.
        return export_work(
            case, points, self._time_limit_s, self._memory_limit_bytes, checked=False
        )


def _lacks(reply: ExportReply, case: Case) -> bool:
    """Whether the model is there without a reference for this case."""
    model = reply.model
    return model is not None and axes_key(model.at(case.axes).axes) not in model.references


def _same_model(first: Case, second: Case) -> bool:
    return (first.model, first.precision) == (second.model, second.precision)


class OperatorFollowUp(FollowUp):
    """`source` until it is exhausted, then the operator times of each case that has none."""

    kind = OperatorWork.kind

    def __init__(self, source: Source, state: RunState) -> None:
        super().__init__(source, state)
        recorded = state.recorded.operators
        finished_ids = [case_id for case_id, entry in recorded.items() if not entry.transient]
        self._waiting = deque(c for c in state.models if c.case_id not in finished_ids)

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def _next_job(self) -> Work | None:
        while self._waiting:
            case = self._waiting[0]
            if case.case_id not in self._ran:
                self._waiting.popleft()
                continue
            outcome = self._model_or_export(case, self._waiting)
            if isinstance(outcome, Work):
                return outcome
            self._waiting.popleft()
            if outcome is not None:
                job = OperatorJob(case, outcome, str(installed_runtimes.folder()))
                return OperatorWork(job, case, self._time_limit_s, self._memory_limit_bytes)
        return None


def operator_follow_up(source: Source, state: RunState) -> FollowUp | None:
    """The cases that have no operator times; None where the plan wants none."""
    if not state.plan.profile_ops or isinstance(state.rounds, SharedSweep):
        return None  # hosts ask for those of their shares
    return OperatorFollowUp(source, state)


class AccuracyFollowUp(FollowUp):
    """`source` until it is exhausted, then the accuracy of each subject that has none; after the
    rounds more cases may be known."""

    kind = AccuracyWork.kind

    def __init__(self, source: Source, state: RunState) -> None:
        super().__init__(source, state)
        self._labelled_data = state.plan.accuracy
        self._late_cases: Callable[[], Iterable[Case]] = state.rounds.late_cases
        self._waiting: deque[tuple[Case, str]] = deque()
        self._subjects = Counter[tuple[object, ...]]()
        recorded = state.recorded.accuracies
        self._finished_ids = {subject for subject, entry in recorded.items() if not entry.transient}
        self._await(state.models)

    @property
    def remaining(self) -> int:
        return len(self._subjects)

    def _next_job(self) -> Work | None:
        cases, self._late_cases = self._late_cases(), tuple
        self._await(cases)
        while self._waiting:
            case, data = self._waiting[0]
            if case.case_id not in self._ran:
                self._drop_first()
                continue
            reply = self._models.get((case.model, case.precision))
            if reply is None:
                # A resumed run whose rounds are all there has exported nothing yet.
                return self._export(case, [case.axes])
            self._drop_first()
            if reply.model is None:
                continue
            subject = subject_of(case, reply.model)
            if subject.case_id not in self._finished_ids:
                self._finished_ids.add(subject.case_id)
                job = AccuracyJob(subject, reply.model, data, str(installed_runtimes.folder()))
                return AccuracyWork(job, case.case_id, self._time_limit_s, self._memory_limit_bytes)
        return None

    def _await(self, cases: Iterable[Case]) -> None:
        """Take those of the cases whose models have labelled data."""
        data: dict[str, str] = {}
        for case in cases:
            if case.model not in data:
                data[case.model] = data_for(case.model, self._labelled_data)
            if data[case.model]:
                self._waiting.append((case, data[case.model]))
                self._subjects[_subject_key(case)] += 1

    def _drop_first(self) -> None:
        case, _ = self._waiting.popleft()
        subject = _subject_key(case)
        self._subjects[subject] -= 1
        if not self._subjects[subject]:
            del self._subjects[subject]


def _subject_key(case: Case) -> tuple[object, ...]:
    """What cases of one subject have in common, known before their model is there."""
    sizes = tuple((name, size) for name, size in case.axes.items() if name != "batch")
    options = tuple((name, value) for name, value in case.options.items() if name != SESSIONS.name)
    return case.model, case.precision, case.runtime, sizes, options


def accuracy_follow_up(source: Source, state: RunState) -> AccuracyFollowUp | None:
    """The subjects that have no accuracy; None on other machines."""
    return None if isinstance(state.rounds, SharedSweep) else AccuracyFollowUp(source, state)


class ColdStartFollowUp(FollowUp):
    """`source` until it is exhausted, then as many processes of each subject as the plan wants.

    Number by number, in a seeded order each, so that drift of the machine does not follow the
    subject. The first of each in a run is a scout, which is not counted: it brings the files in,
    and tells which they are where they are to be `dropped` before all others. A
    subject of which one gave no answer gets no more.
    """

    kind = ColdStartWork.kind

    def __init__(self, source: Source, state: RunState) -> None:
        super().__init__(source, state)
        plan, count = state.plan, state.plan.cold_start or 0
        self._cores, self._page_cache = plan.chosen_cores, plan.page_cache
        self._files: dict[str, tuple[str, ...]] = {}
        recorded_starts = {
            subject: {number: start for number, start in starts.items() if not start.transient}
            for subject, starts in state.recorded.cold_starts.items()
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


def cold_start_follow_up(source: Source, state: RunState) -> ColdStartFollowUp | None:
    """The processes that are missing; None where the plan wants none."""
    return None if state.plan.cold_start is None else ColdStartFollowUp(source, state)
