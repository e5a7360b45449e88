"""A job source with the operator profiles of what it found to run after it, never between.

One profile for each case that gave outputs; see `app.measure.profiling`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from app.accuracy.source import RAN
from app.measure.profiling import ProfileRequest
from app.sweep.case import Case
from app.sweep.jobs import (
    Exported,
    ExportJob,
    Job,
    JobSource,
    Measured,
    Outcome,
    Profiled,
    ProfileJob,
)
from app.sweep.rounds import export_request
from exporters.request import ExportReply
from exporters.types import axes_key


class WithProfiles:
    """`source` until it is exhausted, then one `ProfileJob` for each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how
    long one profile may take.
    """

    def __init__(
        self,
        source: JobSource,
        cases: Sequence[Case],
        ran: Iterable[str],
        done: Collection[str],
        time_limit_s: float,
    ) -> None:
        self._source = source
        self._waiting = deque(case for case in cases if case.case_id not in done)
        self._ran = set(ran)
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
        return not isinstance(outcome, Profiled) and outcome.job is not self._own_export

    def _next_of_ours(self) -> Job | None:
        while self._waiting:
            case = self._waiting[0]
            if case.case_id not in self._ran:
                self._waiting.popleft()
                continue
            reply = self._models.get((case.model, case.precision))
            if reply is None or _lacks(reply, case):
                # A resumed run exports only what its rounds still need.
                points = [c.axes for c in self._waiting if _same_model(c, case)]
                request = export_request(case, points)
                self._own_export = ExportJob(request, self._time_limit_s)
                return self._own_export
            self._waiting.popleft()
            if reply.model is not None:
                return ProfileJob(ProfileRequest(case, reply.model), self._time_limit_s)
        return None


def _lacks(reply: ExportReply, case: Case) -> bool:
    """Whether the model is there without a reference for this case."""
    return reply.model is not None and axes_key(case.axes) not in reply.model.references


def _same_model(one: Case, other: Case) -> bool:
    return (one.model, one.precision) == (other.model, other.precision)
