"""The settings that a measuring process reads itself: their rows, and what the process is handed.

A plan is one of these too, and a job holds its plan. So one more such setting is a row here, and
what the process does with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from app.cases.setting import (
    LIMITS_FOLD,
    MODEL,
    PLACE,
    PLACES_FOLD,
    PLANNED,
    Bounds,
    Setting,
    Switch,
    Word,
    amount,
    integer_from,
    size,
)
from exporters.size import parse_size
from exporters.types import ExportedModel

MemoryKind: TypeAlias = Literal["usual", "huge", "small"]
"""The pages of memory that a process has: as the system gives them, huge ones, or none of these."""
HIGHEST_PRIORITY = 99
"""Of SCHED_FIFO on Linux."""


@dataclass(frozen=True)
class ProcessSettings:
    """What of a plan holds for each measuring process as it is."""

    device_memory_limit: Annotated[
        str,
        Setting(
            metavar="SIZE",
            help="GPU memory that a measuring process may use, such as 16GiB",
            form=Word(size, sample="16GiB"),
            group=PLACE,
            label="Device memory limit",
            fold=LIMITS_FOLD,
            absent="all of the GPU's",
        ),
    ] = ""
    huge_pages: Annotated[
        Annotated[bool, Bounds()],
        Setting(
            help="have measuring processes allocate memory in huge pages",
            form=Switch(),
            group=PLACE,
            commands=(*PLANNED, "study"),
            label="Huge pages",
            fold=PLACES_FOLD,
            notes="So that [where pages lie](trust.md#huge-pages) makes no process slower than "
            "another. Needs Linux and glibc 2.35.",
        ),
    ] = False
    huge_pages_from: Annotated[
        str,
        Setting(
            metavar="SIZE",
            help="the same for models of at least this size, such as 32MiB, and no others",
            form=Word(size, sample="32MiB"),
            group=PLACE,
            commands=(*PLANNED, "study"),
            label="Huge pages from",
            fold=PLACES_FOLD,
            absent="all or none",
            notes="The memory of smaller ones is [moved](trust.md#where-memory-lies) instead.",
        ),
    ] = ""
    lock_memory: Annotated[
        Annotated[bool, Bounds()],
        Setting(
            help="lock the measuring process into memory",
            form=Switch(),
            group=PLACE,
            commands=(*PLANNED, "study"),
            label="Lock memory",
            fold=PLACES_FOLD,
        ),
    ] = False
    realtime: Annotated[
        Annotated[int, Bounds(ge=1, le=HIGHEST_PRIORITY)] | None,
        Setting(
            metavar="PRIORITY",
            help="SCHED_FIFO priority, 1 to 99; needs --cores with one core left free",
            form=Word(integer_from(1), sample="10"),
            group=PLACE,
            commands=(*PLANNED, "study"),
            label="Priority",
            fold=PLACES_FOLD,
            absent="the usual",
            notes="SCHED_FIFO priority of the measuring process. Needs `cores` that leave a core "
            "to everything else.",
        ),
    ] = None
    tolerance: Annotated[
        Annotated[float, Bounds(ge=0, allow_inf_nan=False, strict=False)] | None,
        Setting(
            metavar="X",
            help="allowed output error, relative to the largest output",
            form=Word(amount, repr, sample="1e-3"),
            group=MODEL,
            label="Tolerance",
            fold=LIMITS_FOLD,
            absent="as the types round",
        ),
    ] = None

    @property
    def asks_huge_pages(self) -> bool:
        """Of any model."""
        return self.huge_pages or bool(self.huge_pages_from)

    def memory_kind(self, model: ExportedModel) -> MemoryKind:
        """For a process that measures this model."""
        if self.huge_pages_from:
            is_large = model.size_bytes >= parse_size(self.huge_pages_from)
            return "huge" if is_large else "small"
        return "huge" if self.huge_pages else "usual"

    @property
    def device_memory_limit_bytes(self) -> int:
        """0 for all of it."""
        return parse_size(self.device_memory_limit) if self.device_memory_limit else 0
