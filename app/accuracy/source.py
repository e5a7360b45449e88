"""A job source with the accuracy of what it found to run after it, never between its rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from app.accuracy.job import AccuracyJob, subject_of
from app.measure.job import Status
from app.sweep.case import Case
from app.sweep.jobs import (
    Assessed,
    AssessJob,
    Exported,
    ExportJob,
    Job,
    JobSource,
    Measured,
    Outcome,
)
from app.sweep.rounds import export_request
from exporters import catalogue
from exporters.request import ExportReply
from exporters.types import GraphlapError

RAN: frozenset[Status] = frozenset({"ok", "partial", "wrong_output"})
"""A case with a round that ended so gives outputs, right or wrong, that can be counted."""


def data_for(case: Case, given: str) -> str:
    """The labelled data of a case: what the plan gives, else its definition's own, else ''."""
    if given:
        return given
    with suppress(GraphlapError):
        return catalogue.find(case.model).labelled
    return ""


class WithAccuracy:
    """`source` until it is exhausted, then one `AssessJob` for each subject not yet `done`.

    `given` is the plan's labelled data, `ran` the ids of the cases that are recorded to give
    outputs, `done` the subjects whose accuracy is recorded. `time_limit_s` is how long an
    accuracy process may stay silent.
    """

    def __init__(
        self,
        source: JobSource,
        cases: Sequence[Case],
        given: str,
        ran: Iterable[str],
        done: Collection[str],
        time_limit_s: float,
    ) -> None:
        self._source = source
        self._waiting = deque((case, data_for(case, given)) for case in cases)
        self._ran = set(ran)
        self._done = set(done)
        self._time_limit_s = time_limit_s
        self._models: dict[tuple[str, str], ExportReply] = {}
        self._in_flight = 0
        self._own_export: ExportJob | None = None

    def next(self, finished: Sequence[Outcome]) -> Job | None:
        self._in_flight -= len(finished)
        for outcome in finished:
            if isinstance(outcome, Exported):
                request = outcome.job.request
                self._models[request.model, request.precision] = outcome.reply
            elif isinstance(outcome, Measured) and outcome.result.status in RAN:
                self._ran.add(outcome.result.case_id)
        job = self._source.next([outcome for outcome in finished if self._is_theirs(outcome)])
        if job is None and not self._in_flight:
            job = self._next_of_ours()
        if job is not None:
            self._in_flight += 1
        return job

    def _is_theirs(self, outcome: Outcome) -> bool:
        return not isinstance(outcome, Assessed) and outcome.job is not self._own_export

    def _next_of_ours(self) -> Job | None:
        while self._waiting:
            case, data = self._waiting[0]
            if not data or case.case_id not in self._ran:
                self._waiting.popleft()
                continue
            reply = self._models.get((case.model, case.precision))
            if reply is None:
                # A resumed run whose rounds are all there has exported nothing yet.
                request = export_request(case, [case.axes])
                self._own_export = ExportJob(request, self._time_limit_s)
                return self._own_export
            self._waiting.popleft()
            if reply.model is None:
                continue
            subject = subject_of(case, reply.model)
            if subject.case_id not in self._done:
                self._done.add(subject.case_id)
                job = AccuracyJob(subject, reply.model, data)
                return AssessJob(job, case.case_id, self._time_limit_s)
        return None
