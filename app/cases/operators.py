"""What a process that asks for operator times is told, and what it tells back.

Profilers slow down what they look at, so the times of a case's operators are asked for in a
process of its own, after the timed rounds, and none of them is ever a latency.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.cases.case import Case
from app.cases.settings import settings_of
from exporters.types import ExportedModel
from runtimes.execution import Clock, OpTime
from runtimes.options import Settings


@dataclass(frozen=True, slots=True)
class OperatorJob:
    """The case whose operators are to be told, its model, and where engines are kept."""

    case: Case
    model: ExportedModel
    cache_dir: str = ""

    @property
    def settings(self) -> Settings:
        """How the case is compiled, for a session that tells."""
        return settings_of(self.case, self.cache_dir, operator_times=True)


@dataclass(frozen=True, slots=True)
class OperatorTimes:
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
