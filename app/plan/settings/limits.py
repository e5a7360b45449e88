"""What a measuring process may use: memory, cores and priority."""

from __future__ import annotations

from typing import Annotated

from pydantic import field_validator

from app.cases.process_settings import ProcessSettings
from app.cases.setting import (
    PLACE,
    PLACES_FOLD,
    PLANNED,
    Setting,
    Word,
    size,
)
from app.machine.placement import as_list, listed
from app.plan.settings.measurements import Measurements
from exporters.size import parse_size


class Limits(Measurements, ProcessSettings, frozen=True):
    """The limits hold for each measuring process on its own."""

    memory_limit: Annotated[
        str,
        Setting(
            label="&Memory",
            metavar="SIZE",
            help="host memory that a measuring process may use, such as 8GiB",
            form=Word(size, sample="8GiB"),
            group=PLACE,
            commands=(*PLANNED, "check", "study"),
            absent="none; for a search most of what is free",
        ),
    ] = ""
    cores: Annotated[
        str,
        Setting(
            metavar="N,…",
            help="cores of the measuring process, such as 2,3 or 2-5",
            form=Word(sample="2,3"),
            group=PLACE,
            commands=(*PLANNED, "study"),
            common=True,
            label="Cores",
            fold=PLACES_FOLD,
            absent="the last ones, one a thread",
            notes="Where the measuring process runs: see "
            "[deadlines](load.md#how-do-i-keep-other-work-from-delaying-a-model).",
        ),
    ] = ""

    @field_validator("memory_limit", "device_memory_limit", "huge_pages_from")
    @classmethod
    def _known_size(cls, text: str) -> str:
        if text:
            parse_size(text)
        return text

    @field_validator("cores")
    @classmethod
    def _known_list(cls, text: str) -> str:
        return as_list(listed(text)) if text else ""
