"""What a measuring process may use: memory, cores and priority."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from app.machine.placement import HIGHEST_PRIORITY, as_list, listed
from app.plan.settings.measurements import Measurements, On
from app.plan.settings.setting import (
    LIMITS_FOLD,
    PLACE,
    PLACES_FOLD,
    PLANNED,
    Setting,
    Switch,
    Word,
    integer_from,
    size,
)
from exporters.size import parse_size

Priority = Annotated[int, Field(ge=1, le=HIGHEST_PRIORITY, strict=True)]


class Limits(Measurements):
    """The limits hold for each measuring process on its own."""

    memory_limit: Annotated[
        str,
        Setting(
            label="&Memory",
            term="memory limit",
            metavar="SIZE",
            help="host memory that a measuring process may use, such as 8GiB",
            form=Word(size),
            group=PLACE,
            commands=(*PLANNED, "check", "study"),
            values="`8GiB`, `512MiB`",
            absent="none; for a search most of what is free",
        ),
    ] = ""
    device_memory_limit: Annotated[
        str,
        Setting(
            metavar="SIZE",
            help="GPU memory that a measuring process may use, such as 16GiB",
            form=Word(size),
            group=PLACE,
            label="Device memory limit",
            example="16GiB … (all of the GPU's)",
            fold=LIMITS_FOLD,
            values="`16GiB`",
            absent="all of it",
        ),
    ] = ""
    cores: Annotated[
        str,
        Setting(
            metavar="N,…",
            help="cores of the measuring process, such as 2,3 or 2-5",
            group=PLACE,
            commands=(*PLANNED, "study"),
            common=True,
            label="Cores",
            example="2,3 … (as the system likes)",
            fold=PLACES_FOLD,
            values='`"2,3"`, `"2-5"`',
            absent="the last ones, one for each thread of a case",
            notes="Where the measuring process runs: see "
            "[deadlines](load.md#how-do-i-keep-other-work-from-delaying-a-model).",
        ),
    ] = ""
    lock_memory: Annotated[
        On,
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
        Priority | None,
        Setting(
            metavar="PRIORITY",
            help="SCHED_FIFO priority, 1 to 99; needs --cores with one core left free",
            form=Word(integer_from(1)),
            group=PLACE,
            commands=(*PLANNED, "study"),
            label="Priority",
            example="1 to 99 … (the usual)",
            fold=PLACES_FOLD,
            values="integer from 1 to 99",
            notes="SCHED_FIFO priority of the measuring process. Needs `cores` that leave a core "
            "to everything else.",
        ),
    ] = None

    @field_validator("memory_limit", "device_memory_limit")
    @classmethod
    def _known_size(cls, text: str) -> str:
        if text:
            parse_size(text)
        return text

    @field_validator("cores")
    @classmethod
    def _known_list(cls, text: str) -> str:
        return as_list(listed(text)) if text else ""
