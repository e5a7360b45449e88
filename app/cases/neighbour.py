"""Another model at work beside the one that is measured: what its process is told and tells."""

from __future__ import annotations

from dataclasses import dataclass

from app.cases.status import Status
from exporters.types import ExportedModel
from runtimes.options import Settings


@dataclass(frozen=True, slots=True)
class NeighbourJob:
    """A model at the sizes that it has, on the runtime of the measured one, in one session."""

    model: ExportedModel
    runtime: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many runs one after another, on the clock that all processes of a machine share."""

    begun_ns: int
    ended_ns: int
    runs: int


@dataclass(frozen=True, slots=True)
class NeighbourResult:
    """What it did until it was told to end; `reason` says why it could do nothing."""

    stretches: tuple[Stretch, ...] = ()
    status: Status = "ok"
    reason: str = ""
