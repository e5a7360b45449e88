"""One inference on the simulated card, as a plain value: what the schedule view is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class CardEvent:
    """An instruction: cycles after the request's arrival at which it begins, has issued, is done.

    `ahead` are the cycles of it that were done before the request arrived.
    """

    name: str
    unit: str
    begun: int
    issued: int
    done: int
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class CardRun:
    """The events of one request, and how full the card is."""

    model: str
    card: str
    release: str
    clock_mhz: float
    io_us: float
    cycles: int
    tiles_used: int
    tiles_total: int
    tiles_by_core: tuple[int, ...]
    events: tuple[CardEvent, ...]
    fidelity: str = ""

    @property
    def latency_us(self) -> float:
        return self.io_us + self.cycles / self.clock_mhz

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        values = dict(data)
        values["tiles_by_core"] = tuple(values["tiles_by_core"])
        values["events"] = tuple(CardEvent(**event) for event in values["events"])
        return cls(**values)
