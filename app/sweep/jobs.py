"""What a sweep asks to be done, and who asks: jobs, their outcomes, and the job source.

A job names what it needs; the engine starts it when that is free. A job source decides
what comes next from what has come out so far: a fixed grid, a search, a tuner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.cases.accuracy import AccuracyJob, AccuracyResult
from app.cases.operators import OpProfile, ProfileRequest
from app.cases.round import MeasureJob, RoundResult
from exporters.request import ExportReply, ExportRequest

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Needs:
    """Resources that a job must have alone, and those that it can share with its own kind."""

    alone: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    def fits_beside(self, other: Needs) -> bool:
        """Whether two jobs with these needs can run at the same time."""
        return not (
            self.alone & (other.alone | other.shared) or other.alone & (self.alone | self.shared)
        )


@dataclass(frozen=True, slots=True)
class ExportJob:
    """One model in one precision; exports share the cores with other exports only."""

    request: ExportRequest
    time_limit_s: float
    needs: Needs = Needs(shared=frozenset({CPU}))


@dataclass(frozen=True, slots=True)
class RoundJob:
    """One round of one case in a process of its own, with the cores to itself.

    A process that holds more than `memory_limit_bytes` of the host's memory is ended; 0
    for no limit.
    """

    measure: MeasureJob
    time_limit_s: float
    needs: Needs = Needs(alone=frozenset({CPU}))
    memory_limit_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SettledJob:
    """A round whose result is known without a process: a refusal, or an export that failed."""

    result: RoundResult
    needs: Needs = Needs()


@dataclass(frozen=True, slots=True)
class AssessJob:
    """The accuracy of one subject; `case_id` is a case of it. The limit is one of silence."""

    accuracy: AccuracyJob
    case_id: str
    time_limit_s: float
    needs: Needs = Needs(alone=frozenset({CPU}))


@dataclass(frozen=True, slots=True)
class ProfileJob:
    """The times of one case's operators, in a process of its own and never timed."""

    profile: ProfileRequest
    time_limit_s: float
    needs: Needs = Needs(alone=frozenset({CPU}))


Job = ExportJob | RoundJob | SettledJob | AssessJob | ProfileJob


@dataclass(frozen=True, slots=True)
class Exported:
    """How an export ended."""

    job: ExportJob
    reply: ExportReply


@dataclass(frozen=True, slots=True)
class Measured:
    """How a round ended."""

    job: RoundJob | SettledJob
    result: RoundResult


@dataclass(frozen=True, slots=True)
class Assessed:
    """How an accuracy ended."""

    job: AssessJob
    result: AccuracyResult


@dataclass(frozen=True, slots=True)
class Profiled:
    """How a profile ended."""

    job: ProfileJob
    result: OpProfile


Outcome = Exported | Measured | Assessed | Profiled


class JobSource(Protocol):
    """Hands out jobs one at a time, on what the outcomes so far say."""

    def next(self, finished: Sequence[Outcome]) -> Job | None:
        """The next job; `finished` are the outcomes since the last call, each given once.

        None: nothing to start until something in flight ends; with nothing in flight,
        the sweep is over.
        """
