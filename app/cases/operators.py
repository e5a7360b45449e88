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
class Peak:
    """The most that the host's cores compute, and move while so many bytes are in use.

    What is in use decides from which cache it comes, or from memory. `how` says who measured it.
    """

    flops_per_s: float
    bytes_per_s: float
    in_use_bytes: int
    how: str


@dataclass(frozen=True, slots=True)
class Operator(OpTime):
    """One node of the executed graph, with what it has to do.

    `macs` and `bytes_moved` are what the nodes of the file that it `holds` have to compute, and to
    read and write; `roof_us` is the least time that the host's peaks allow for it. None where that
    is not known.
    """

    macs: int | None = None
    bytes_moved: int | None = None
    roof_us: float | None = None

    @property
    def peak_share(self) -> float | None:
        """How much of what the host could do it reaches; above 1 where caches help."""
        return self.roof_us / self.time_us if self.roof_us and self.time_us else None


@dataclass(frozen=True, slots=True)
class OperatorTimes:
    """The median times of one case's operators over `runs` runs, in graph order.

    `run_us` is the median of these runs themselves, with all that the profiler adds; None
    where it was not timed. `peak` is the host's, None where it says nothing of these times.
    Without any operators, `reason` is one sentence. `transient`: circumstances made it fail, so
    that a resume asks for them again.
    """

    case_id: str
    clock: Clock = "wall"
    runs: int = 0
    ops: tuple[Operator, ...] = ()
    reason: str = ""
    run_us: float | None = None
    peak: Peak | None = None
    transient: bool = False

    @property
    def total_us(self) -> float:
        """All operators together, of which each has its share."""
        return sum(op.time_us for op in self.ops)

    @property
    def high_water(self) -> Operator | None:
        """The operator while which most memory was in use; None where the engine reports none."""
        known = [op for op in self.ops if op.peak_bytes]
        return max(known, key=lambda op: op.peak_bytes or 0) if known else None
