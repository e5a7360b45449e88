"""What a process that starts cold is told, and what it tells back: how long each phase took.

A fresh process imports its engine, compiles one case, runs it once and ends. A round compiles and
runs first too, but a handful of rounds are no distribution; these are processes for nothing else,
after the rounds, so that they share no moment with a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from app.cases.case import Case
from app.cases.condition import NO_CONDITION
from app.cases.scenario import CLOSED_LOOP
from exporters.types import ExportedModel

PageCache = Literal["warm", "dropped"]
PHASES = ("process", "import", "compile", "first_inference")
"""In their order: from the process's start until it had its job (the interpreter, numpy), the
engine's own import, the graph's compilation, the first run."""
TOTAL = "total"
SCOUT = -1
"""The number of a process that only brings the files in and tells which they are."""


def subject_of(case: Case) -> Case:
    """The case with all that matters only to later runs at its default: one distribution each."""
    return replace(
        case,
        scenario=CLOSED_LOOP,
        wait_policy="spin",
        batcher=None,
        condition=NO_CONDITION,
        suite="",
    )


@dataclass(frozen=True, slots=True)
class ColdStartJob:
    """One process of a subject.

    `begun_ns` is when it was started, by this machine's monotonic clock. `dropped` are the files
    that the system is to have forgotten before the engine is imported. `cache_dir` is where
    engines are kept; what an engine keeps there of a graph, it does not compile again.
    """

    subject: Case
    process: int
    model: ExportedModel
    begun_ns: int
    affinity: tuple[int, ...] = ()
    dropped: tuple[str, ...] = ()
    cache_dir: str = ""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """How one process went. `subject` is the subject's case id; times by phase, in milliseconds.

    `kept_share` is how much of the files that were to be forgotten was still in memory, None
    where none were. `files` are those that the process used, told by a scout alone. Without a
    first inference `reason` is one sentence. `transient`: circumstances made it fail, so that a
    resume starts it again.
    """

    subject: str
    process: int
    phases_ms: Mapping[str, float] = field(default_factory=dict)
    kept_share: float | None = None
    files: tuple[str, ...] = ()
    reason: str = ""
    transient: bool = False

    @property
    def total_ms(self) -> float:
        """From the process's start to its first answer: the phases together."""
        return sum(self.phases_ms.values())
