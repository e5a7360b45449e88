"""What `Engine.poll` reports: small frozen values, in the order in which things happened."""

from __future__ import annotations

from dataclasses import dataclass

from app.cases.accuracy import AccuracyResult
from app.cases.operators import OpProfile
from app.cases.reading import Reading
from app.cases.round import RoundResult
from app.sweep.jobs import AssessJob, ExportJob, ProfileJob, RoundJob
from exporters.request import ExportReply


@dataclass(frozen=True, slots=True)
class ExportStarted:
    job: ExportJob


@dataclass(frozen=True, slots=True)
class ExportFinished:
    job: ExportJob
    reply: ExportReply


@dataclass(frozen=True, slots=True)
class RoundStarted:
    job: RoundJob


@dataclass(frozen=True, slots=True)
class RoundPhase:
    """The round entered a phase of `app.cases.round.Phase`."""

    job: RoundJob
    phase: str


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How far the round is; the percentiles are the running ones, None while unknown."""

    job: RoundJob
    phase: str
    iterations: int
    elapsed_s: float
    p50_ns: float | None
    p99_ns: float | None


@dataclass(frozen=True, slots=True)
class RoundReadings:
    """What the devices told while the round ran, a few times a second."""

    job: RoundJob
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class RoundFinished:
    """A round ended with a result that counts; `seconds` is its wall time in the parent."""

    result: RoundResult
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundDropped:
    """A round was cut short by a stop, or could not be written: it is to be measured again."""

    job: RoundJob
    reason: str
    disk_full: bool


@dataclass(frozen=True, slots=True)
class AccuracyStarted:
    job: AssessJob


@dataclass(frozen=True, slots=True)
class AccuracyProgress:
    """So many images have been answered."""

    job: AssessJob
    images: int


@dataclass(frozen=True, slots=True)
class AccuracyFinished:
    """An accuracy was measured, or the result says why not."""

    job: AssessJob
    result: AccuracyResult


@dataclass(frozen=True, slots=True)
class ProfileStarted:
    job: ProfileJob


@dataclass(frozen=True, slots=True)
class ProfileFinished:
    """The operators of a case were profiled, or the result says why not."""

    job: ProfileJob
    result: OpProfile


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is in flight and nothing will start until `resume`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event: the source is exhausted, or the sweep was stopped."""

    stopped: bool


Event = (
    ExportStarted
    | ExportFinished
    | RoundStarted
    | RoundPhase
    | RoundProgress
    | RoundReadings
    | RoundFinished
    | RoundDropped
    | AccuracyStarted
    | AccuracyProgress
    | AccuracyFinished
    | ProfileStarted
    | ProfileFinished
    | Paused
    | Finished
)
