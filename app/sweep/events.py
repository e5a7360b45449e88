"""What `Engine.poll` reports: small frozen values, in the order in which things happened."""

from __future__ import annotations

from dataclasses import dataclass

from app.sweep.work.base import Work


@dataclass(frozen=True, slots=True)
class Started:
    """The work is in flight now."""

    work: Work


@dataclass(frozen=True, slots=True)
class Told:
    """The work stands elsewhere than before."""

    work: Work


@dataclass(frozen=True, slots=True)
class Ended:
    """The work is over and has a result that counts; `seconds` is how long it took here."""

    work: Work
    seconds: float


@dataclass(frozen=True, slots=True)
class Dropped:
    """The work is over without a result that counts: it is to be done again."""

    work: Work


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is in flight and nothing will start until `resume`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The sweep is over; `stopped` if it was asked to end before its source was empty."""

    stopped: bool


Event = Started | Told | Ended | Dropped | Paused | Finished
