"""What a follower tells: one frozen value for the whole run, made anew when something moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.results.follow.details import CaseDetails
from app.results.live import Live
from app.results.manifest import Manifest
from app.results.noticing.notice import Notice
from app.results.problem import Problem
from app.results.series import Series


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as it stands.

    `series` has every case in the plan's order; only `shown` ones have counts, rounds and,
    once their model was exported, details. `environments` are by host, of who measured.
    `revision` grows when more changed than samples being added. `alive` says that some
    process is writing the folder now. `problem` is there when the folder can't be read any
    more; what was read before stays. `damaged` are journal lines that nobody understands: what
    they told of is not among the series. `noticed` is what to look at, once nobody writes the
    folder.
    """

    folder: Path
    manifest: Manifest
    live: Live | None = None
    alive: bool = False
    series: tuple[Series, ...] = ()
    shown: tuple[str, ...] = ()
    revision: int = 0
    samples_in_flight: int = 0
    problem: Problem | None = None
    damaged: tuple[Problem, ...] = ()
    details: Mapping[str, CaseDetails] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    noticed: tuple[Notice, ...] = ()

    def of(self, key: str) -> Series | None:
        """The series of one case."""
        return next((one for one in self.series if one.key == key), None)

    @property
    def over(self) -> bool:
        return self.live is not None and self.live.state in ("finished", "stopped")
