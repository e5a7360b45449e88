"""A job source with work of another kind after the rounds of the one it wraps, never between.

What accuracies and operator profiles have in common: they wait until the rounds are over,
concern only cases that gave outputs, and export a model themselves where a resumed run
has not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from app.cases.case import Case
from app.cases.status import RAN
from app.sweep.jobs import Exported, ExportJob, Job, JobSource, Measured, Outcome
from app.sweep.rounds import export_request
from exporters.request import ExportReply


class Afterwards(ABC):
    """`source` until it is exhausted, then what `_next_of_ours` gives.

    `ran` are the ids of the cases that are recorded to give outputs.
    """

    own_outcome: ClassVar[type]
    """How the jobs of `_next_of_ours` end; the wrapped source is not told of these."""

    def __init__(self, source: JobSource, ran: Iterable[str], time_limit_s: float) -> None:
        self._source = source
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

    @abstractmethod
    def _next_of_ours(self) -> Job | None:
        """The next job once the wrapped source has none and nothing is in flight."""

    def _export(self, case: Case, points: Sequence[Mapping[str, int]]) -> ExportJob:
        """The model of a case whose rounds this run did not have to measure."""
        self._own_export = ExportJob(export_request(case, points), self._time_limit_s)
        return self._own_export

    def _is_theirs(self, outcome: Outcome) -> bool:
        return not isinstance(outcome, self.own_outcome) and outcome.job is not self._own_export
