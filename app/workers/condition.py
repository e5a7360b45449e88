"""What a case's condition asks of the process that measures: caches to pollute, and its doubts."""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.round import MeasureJob
from app.workers.pollution import Pollution
from app.workers.under_way import UnderWay
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes import registry
from runtimes.faults import Unsupported


def polluting(this: UnderWay, lanes: int) -> Pollution | None:
    """What goes through the caches between the runs of a session of so many lanes, and noted.

    None where nothing does; Unsupported where there is no between.
    """
    condition = this.job.condition
    if condition.kind != "cold":
        return None
    if lanes > 1:
        raise Unsupported(
            f"{condition} goes between two runs, and {lanes} runs at once have no between",
            "use one session and one stream",
        )
    pollution = Pollution.of(condition.bytes)
    told = {"evicted_mb": condition.bytes / 1e6, "eviction_ms": pollution.pass_ns / 1e6}
    this.note(facts={**this.result.facts, **told})
    this.warn(*_that_stay_warm(this.job))
    return pollution


def _that_stay_warm(job: MeasureJob) -> Iterator[Diagnostic]:
    """The caches that no pollution reaches."""
    if job.settings.threads != 1:
        yield diagnostic("private_caches_warm")
    if registry.load(registry.parse_spec(job.runtime).name).accelerator:
        yield diagnostic("device_caches_warm")
