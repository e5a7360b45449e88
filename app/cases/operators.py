"""What a profiling process is told and what it tells back: the times of a case's operators.

Profilers slow down what they look at, so a profile has a process of its own, after the
timed rounds, and no time of it is ever a latency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from app.cases.case import Case
from app.cases.settings import settings_of
from exporters.types import ExportedModel
from runtimes.execution import Clock, OpTime
from runtimes.options import Settings


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """The case whose operators are to be told, its model, and where engines are kept."""

    case: Case
    model: ExportedModel
    cache_dir: str = ""

    @property
    def settings(self) -> Settings:
        """How the case is compiled, for a session that tells."""
        return settings_of(self.case, self.cache_dir, operator_times=True)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        model = ExportedModel.from_json(data["model"])
        return cls(Case.from_json(data["case"]), model, data["cache_dir"])


@dataclass(frozen=True, slots=True)
class OpProfile:
    """The mean times of one case's operators over `runs` runs, in graph order.

    Without any, `reason` is one sentence.
    """

    case_id: str
    clock: Clock = "wall"
    runs: int = 0
    ops: tuple[OpTime, ...] = ()
    reason: str = ""

    @property
    def total_us(self) -> float:
        """All operators together, of which each has its share."""
        return sum(op.time_us for op in self.ops)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        ops = tuple(OpTime(**op) for op in data["ops"])
        return cls(**{**data, "ops": ops})
