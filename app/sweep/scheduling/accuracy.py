"""Accuracies of models on labelled data, after the rounds."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence

from app.cases.case import Case
from app.cases.jobs import (
    AccuracyJob,
    subject_of,
)
from app.machine import installed_runtimes
from app.plan.models import data_for
from app.sweep.scheduling.follow_up import FollowUp, RunState
from app.sweep.scheduling.shares import SharedSweep
from app.sweep.work.base import Source, Work
from app.sweep.work.follow_ups import AccuracyWork
from runtimes.options import SESSIONS


class AccuracyFollowUp(FollowUp):
    """`source` until it is exhausted, then the accuracy of each subject not yet finished.

    `labelled_data` is the plan's labelled data, `ran` the ids of the cases that are recorded to
    give outputs, `finished_ids` the subjects whose accuracy is recorded. `time_limit_s` is how long
    an accuracy process may stay silent. `late_cases` gives the cases that are known only after the
    rounds.
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
        self._finished_ids = set(finished_ids)
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


def follow_up_of(source: Source, state: RunState) -> AccuracyFollowUp | None:
    """The subjects that have no accuracy; None on other machines."""
    if isinstance(state.rounds, SharedSweep):
        return None
    results = state.recorded.accuracies.items()
    return AccuracyFollowUp(
        source,
        state.models,
        state.plan.accuracy,
        state.ran,
        [subject for subject, result in results if not result.transient],
        state.recorded.manifest.time_limit_s,
        state.rounds.late_cases,
        state.rounds.schedule.memory_limit_bytes,
    )
