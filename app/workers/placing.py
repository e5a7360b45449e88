"""Where the measuring process runs and what it has of the system: taken, read back, and told.

Cores, memory of their node and the priority are taken before the engine is loaded, so that its
threads and its memory follow. Memory is locked just before the warm-up, when the engine's is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from app.cases.round import MeasureJob, RoundResult
from app.cases.surroundings import Surroundings
from app.machine.cores import as_list, keep_to, usable_cores
from app.machine.numa import bind_memory, nodes_of, nodes_with_memory
from app.machine.privileges import (
    held_back_share,
    lock_memory,
    memory_locked,
    scheduler,
    take_realtime,
)
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.faults import Unsupported


def take_place(job: MeasureJob) -> list[Diagnostic]:
    """Do what the job says of cores, node and priority; a diagnostic for each that failed."""
    warnings = [*_take_cores(job.affinity), *_take_priority(job.realtime)]
    if job.shared:
        warnings.append(diagnostic("batch_process_on_measured_cores"))
    return warnings


def refuse_crowd(threads: int, result: RoundResult) -> None:
    """Unsupported where so many real-time threads outnumber the cores that they have.

    Those of one priority don't take turns: one that spins until another has done something waits
    for ever.
    """
    around = result.environment
    cores = len(around["affinity"])
    if threads > cores and str(around["scheduler"]).startswith("fifo"):
        raise Unsupported(
            f"{threads} threads of one real-time priority take no turns on {cores} "
            f"core{'s' * (cores > 1)}, so that they may wait for ever",
            "choose more --cores, or remove --realtime",
        )


def hold_memory(job: MeasureJob, result: RoundResult) -> dict[str, Any]:
    """What `result` says anew of its environment and its warnings, memory locked if asked for."""
    why = lock_memory() if job.lock_memory else ""
    warnings = (diagnostic("memory_not_locked", error=why),) if why else ()
    return {
        "environment": {**result.environment, "memory_locked": memory_locked()},
        "warnings": (*result.warnings, *warnings),
    }


def place_now() -> Surroundings:
    """Cores, nodes of memory and scheduler as they are."""
    cores = sorted(usable_cores())
    return {"affinity": cores, "numa_nodes": list(nodes_of(cores)), "scheduler": scheduler()}


def _take_cores(requested: Collection[int]) -> Iterator[Diagnostic]:
    if not requested:
        return
    with suppress(OSError):  # the cores that were granted instead are reported
        keep_to(requested)
    granted = usable_cores()
    if granted != set(requested):
        yield diagnostic(
            "cores_not_granted", requested=as_list(requested), granted=as_list(granted)
        )
    nodes = nodes_of(granted)
    if len(nodes) > 1:
        yield diagnostic("cores_on_several_nodes", cores=as_list(granted), nodes=as_list(nodes))
    elif nodes and len(nodes_with_memory()) > 1:
        error = bind_memory(nodes[0])
        if error:
            yield diagnostic("memory_not_bound", node=str(nodes[0]), error=error)


def _take_priority(priority: int | None) -> Iterator[Diagnostic]:
    if priority is None:
        return
    error = take_realtime(priority)
    if error:
        yield diagnostic("realtime_refused", priority=priority, error=error)
    elif throttled_share := held_back_share():
        yield diagnostic("realtime_throttled", stopped_ms=throttled_share * 1e3)
