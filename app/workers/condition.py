"""What a case's condition asks of the process that measures: caches to pollute, and its doubts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.cases.round import MeasureJob
from app.workers.pollution import Pollution
from runtimes import registry
from runtimes.faults import Unsupported


@dataclass(frozen=True, slots=True)
class Under:
    """`facts` are figures of the row by column, `doubts` sentences for its warnings."""

    pollution: Pollution | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def under(job: MeasureJob, lanes: int) -> Under:
    """What the condition comes to for so many lanes; Unsupported where it can't hold."""
    if job.condition.kind != "cold":
        return Under()
    if lanes > 1:
        raise Unsupported(
            f"{job.condition} goes between two runs, and {lanes} runs at once have no between",
            "use one session and one stream",
        )
    pollution = Pollution.of(job.condition.bytes)
    facts = {"polluted_mb": job.condition.bytes / 1e6, "pollution_ms": pollution.pass_ns / 1e6}
    return Under(pollution, facts, tuple(_doubts(job)))


def _doubts(job: MeasureJob) -> list[str]:
    """Which caches may have stayed warm."""
    doubts = []
    if job.settings.threads != 1:
        doubts.append(
            "the caches that other cores have for themselves stayed warm, as one thread pollutes: "
            "use --threads 1"
        )
    if registry.load(registry.parse_spec(job.runtime).name).accelerator:
        doubts.append("the host's caches were polluted, the device's were not")
    return doubts
