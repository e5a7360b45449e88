"""Follow-up jobs after the last round: accuracies, cold starts and operator times."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ClassVar

from app.cases.case import Case
from app.cases.jobs import (
    SCOUT,
    AccuracyJob,
    ColdStart,
    ColdStartJob,
    OperatorJob,
    PageCache,
    cold_start_subject_of,
    subject_of,
)
from app.cases.status import RAN
from app.machine import installed_runtimes
from app.machine.installed_runtimes import runtime
from app.machine.placement import usable_cores
from app.plan.models import data_for
from app.remote.contract import ENGINES
from app.sweep.scheduling.hosts import MAXIMUM_LOSSES, HostSlot, exclusive_needs
from app.sweep.scheduling.remote_grid import HostedSweep
from app.sweep.scheduling.round_jobs import cores_for, export_work, near_device, spare_cores
from app.sweep.work.base import Needs, Source, Work
from app.sweep.work.export import ExportWork
from app.sweep.work.follow_ups import AccuracyWork, ColdStartWork, OperatorWork
from app.sweep.work.remote_rounds import HostedOperators, HostNews
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.types import ExportedModel, axes_key
from runtimes.options import SESSIONS, sessions_of
from runtimes.registry import parse_spec
from runtimes.session.session_group import options_on

FOLLOW_UP_S = 4.0
"""A first guess of what operator times or an accuracy take: a process, an engine, some runs."""


class FollowUp(ABC):
    """`source` until it is exhausted, then what `_next_of_ours` gives.

    `ran` are the ids of the cases that are recorded to give outputs. `kind` is that of its
    own work, whose processes have `memory_limit_bytes` of the host's memory, 0 for no limit.
    """

    kind: ClassVar[str]

    def __init__(
        self, source: Source, ran: Iterable[str], time_limit_s: float, memory_limit_bytes: int = 0
    ) -> None:
        self._source = source
        self._ran = set(ran)
        self._time_limit_s, self._memory_limit_bytes = time_limit_s, memory_limit_bytes
        self._models: dict[tuple[str, str], ExportReply] = {}
        self._in_flight = 0
        self._current: Work | None = None

    def next(self, finished: Sequence[Work]) -> Work | None:
        self._in_flight -= len(finished)
        for work in finished:
            if isinstance(work, ExportWork) and work.reply is not None:
                self._models[work.request.model, work.request.precision] = work.reply
            elif isinstance(work, RoundWork) and work.result and work.result.status in RAN:
                self._ran.add(work.result.case_id)
        following = self._source.next([work for work in finished if work is not self._current])
        if following is None and not self._in_flight:
            following = self._current = self._next_job()
        if following is not None:
            self._in_flight += 1
        return following

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


class AccuracyFollowUp(FollowUp):
    """`source` until it is exhausted, then the accuracy of each subject not yet `done`.

    `given` is the plan's labelled data, `ran` the ids of the cases that are recorded to give
    outputs, `done` the subjects whose accuracy is recorded. `time_limit_s` is how long an
    accuracy process may stay silent. `later` gives the cases that are known only after the rounds.
    """

    kind = AccuracyWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        labelled_data: str,
        ran: Iterable[str],
        finished_ids: Collection[str],
        time_limit_s: float,
        late_cases: Callable[[], Iterable[Case]] = tuple,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._labelled_data, self._late_cases = labelled_data, late_cases
        self._waiting: deque[tuple[Case, str]] = deque()
        self._subjects = Counter[tuple[object, ...]]()
        self._finished = set(finished_ids)
        self._await(cases)

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
            if subject.case_id not in self._finished:
                self._finished.add(subject.case_id)
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
                self._subjects[_shared(case)] += 1

    def _drop_first(self) -> None:
        case, _ = self._waiting.popleft()
        subject = _shared(case)
        self._subjects[subject] -= 1
        if not self._subjects[subject]:
            del self._subjects[subject]


def _shared(case: Case) -> tuple[object, ...]:
    """What cases of one subject have in common, told before their model is there."""
    sizes = tuple((name, size) for name, size in case.axes.items() if name != "batch")
    options = tuple((name, value) for name, value in case.options.items() if name != SESSIONS.name)
    return case.model, case.precision, case.runtime, sizes, options


class ColdStartFollowUp(FollowUp):
    """`source` until it is exhausted, then `count` processes of each subject of the cases.

    Number by number, in a seeded order each, so that drift of the machine does not follow the
    subject. The first of each in a run is a scout, which is not counted: it brings the files in,
    and tells which they are where they are to be `dropped` before all others. `done` are those
    recorded that are not to be tried again, by subject and number; a subject of which one gave no
    answer gets no more. `cores` are those that were chosen, where they were.
    """

    kind = ColdStartWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        ran: Iterable[str],
        recorded: Mapping[str, Mapping[int, ColdStart]],
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
            for subject, starts in recorded.items()
            if any(start.reason for start in starts.values())
        }
        members: dict[str, list[Case]] = {}
        for case in cases:
            members.setdefault(cold_start_subject_of(case).case_id, []).append(case)
        self._members = members
        numbers: dict[str, list[int]] = {}
        for subject in members:
            missing = [n for n in range(count) if n not in recorded.get(subject, {})]
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

    def next(self, finished: Sequence[Work]) -> Work | None:
        for work in finished:
            if isinstance(work, ColdStartWork) and work.result is not None:
                if work.result.reason:
                    self._failed.add(work.result.subject)
                elif work.job.process == SCOUT:
                    self._files[work.result.subject] = work.result.files
        return super().next(finished)

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


class OperatorFollowUp(FollowUp):
    """`source` until it is exhausted, then the operator times of each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how
    long they may take.
    """

    kind = OperatorWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        ran: Iterable[str],
        finished_ids: Collection[str],
        time_limit_s: float,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._waiting = deque(case for case in cases if case.case_id not in finished_ids)

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
                return OperatorWork(job, self._time_limit_s, self._memory_limit_bytes)
        return None


class HostedOperatorFollowUp(FollowUp):
    """`source` until it is exhausted, then the operator times of each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how long
    they may take. A case whose host is not at hand is left for a resume.
    """

    kind = OperatorWork.kind

    def __init__(
        self,
        source: HostedSweep,
        cases: Sequence[Case],
        finished_ids: Collection[str],
        ran: Iterable[str],
        time_limit_s: float,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._hosted = source
        self._waiting = [case for case in cases if case.case_id not in finished_ids]

    @property
    def remaining(self) -> int:
        return len(self._waiting)

    def next(self, finished: Sequence[Work]) -> Work | None:
        hosted = [work for work in finished if isinstance(work, HostedOperators)]
        for work in hosted:
            self._take(work)
        following = super().next([work for work in finished if work not in hosted])
        if isinstance(following, HostedOperators):
            self._in_flight -= 1  # while it runs, others may on other machines
        return following

    def _take(self, work: HostedOperators) -> None:
        slot = next(slot for slot in self._hosted.slots if slot.name == work.host)
        slot.is_measuring = False
        if not work.lost:
            slot.losses = 0
            return
        slot.losses += 1
        if slot.losses >= MAXIMUM_LOSSES:
            slot.exclusion = work.lost
        self._waiting.insert(0, work.job.case)

    def _next_job(self) -> Work | None:
        self._waiting = [case for case in self._waiting if case.case_id in self._ran]
        for case in self._waiting:
            slot = self._slot_of(case)
            if slot is None or self._hosted.is_busy(slot):
                continue
            outcome = self._model_or_export(case, self._waiting)
            if isinstance(outcome, Work):
                return outcome
            self._waiting.remove(case)
            if outcome is None:
                return self._next_job()
            slot.is_measuring = True
            spec = parse_spec(case.runtime)
            needs = Needs(
                slot.site.exclusive_resources(slot.site.engine(case.runtime), spec.device)
            )
            job = OperatorJob(case, outcome, ENGINES)
            return HostedOperators(
                job,
                self._time_limit_s,
                needs,
                slot.way,
                self._hosted.attempt_of(case),
                self._memory_limit_bytes,
            )
        return self._report_remaining()

    def _report_remaining(self) -> HostNews | None:
        """Once nothing is in flight: what no host that is here can tell."""
        if not self._waiting or any(slot.is_measuring for slot in self._hosted.slots):
            return None
        count, hosts = len(self._waiting), dict.fromkeys(map(self._hosted.host_of, self._waiting))
        self._waiting = []
        cases = "case was" if count == 1 else "cases were"
        return HostNews(
            f"{count:,} {cases} not asked for operator times, which "
            f"{', '.join(filter(None, hosts)) or 'another machine'} measured: resume the run "
            "when it is there"
        )

    def _slot_of(self, case: Case) -> HostSlot | None:
        host = self._hosted.host_of(case)
        slots = (slot for slot in self._hosted.slots if slot.name == host and not slot.exclusion)
        return next(slots, None)
