"""What a process that checks is told of a case; it answers with a `RoundResult` that ends there.

A check is a round that is over once the engine has compiled: so it is kept, resumed and shown as
rounds are, and has no timings.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.cases.case import Case
from app.cases.settings import settings_of
from exporters.types import ExportedModel
from runtimes.options import Settings


@dataclass(frozen=True, slots=True)
class CheckJob:
    """The case that is to be compiled, its model, and where engines are kept."""

    case: Case
    model: ExportedModel
    cache_dir: str = ""

    @property
    def settings(self) -> Settings:
        """As a round would compile it."""
        return settings_of(self.case, self.cache_dir)
