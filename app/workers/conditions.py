"""Conditions of a round: placement of the process, load, clock and memory of the machine."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.cases.round import MeasureJob, RoundResult
from app.cases.telemetry import Surroundings, has_other_load
from app.machine.own_memory import collapse_memory, huge_page_fraction, memory_since
from app.machine.placement import (
    as_list,
    bind_memory,
    held_back_share,
    huge_pages_refusal,
    keep_to,
    lock_memory,
    memory_locked,
    nodes_of,
    nodes_with_memory,
    refuse_huge_pages,
    scheduler,
    take_realtime,
    usable_cores,
)
from app.machine.system import text_of
from exporters.diagnostics import Diagnostic, diagnostic
from runtimes.errors import Unsupported


def take_place(job: MeasureJob) -> list[Diagnostic]:
    """Do what the job says of cores, node, priority and pages; a diagnostic for what failed."""
    if job.asked.memory_kind(job.model) == "small":
        refuse_huge_pages()
    warnings = [*_take_cores(job.affinity), *_take_priority(job.asked.realtime)]
    if job.shared:
        warnings.append(diagnostic("batch_process_on_measured_cores"))
    return warnings


def reject_crowd(threads: int, result: RoundResult) -> None:
    """Unsupported where so many real-time threads outnumber the cores that they have.

    Those of one priority don't take turns: one that spins until another has done something waits
    for ever.
    """
    environment = result.environment
    cores = len(environment["affinity"])
    if threads > cores and str(environment["scheduler"]).startswith("fifo"):
        raise Unsupported(
            f"{threads} threads of one real-time priority take no turns on {cores} "
            f"core{'s' * (cores > 1)}, so that they may wait for ever",
            "choose more --cores, or remove --realtime",
        )


def hold_memory(
    job: MeasureJob, result: RoundResult, memory_before: Mapping[int, int]
) -> dict[str, Any]:
    """What `result` says anew of its environment and its warnings, memory locked if asked for, and
    moved into huge pages but for what there was as the round began."""
    has_huge_pages = job.asked.memory_kind(job.model) == "huge"
    refusals = {
        "memory_not_locked": lock_memory() if job.asked.lock_memory else "",
        "huge_pages_refused": huge_pages_refusal() if has_huge_pages else "",
    }
    if has_huge_pages:
        collapse_memory(memory_since(memory_before))
    memory = {"memory_locked": memory_locked(), "huge_page_fraction": huge_page_fraction()}
    warnings = (diagnostic(code, error=why) for code, why in refusals.items() if why)
    return {
        "environment": {**result.environment, **memory},
        "warnings": (*result.warnings, *warnings),
    }


def place_now() -> Surroundings:
    """Cores, nodes of memory and scheduler as they are."""
    cores = sorted(usable_cores())
    return {"affinity": cores, "numa_nodes": list(nodes_of(cores)), "scheduler": scheduler()}


def _take_cores(requested_cores: Collection[int]) -> Iterator[Diagnostic]:
    if not requested_cores:
        return
    with suppress(OSError):  # the cores that were granted instead are reported
        keep_to(requested_cores)
    granted_cores = usable_cores()
    if granted_cores != set(requested_cores):
        yield diagnostic(
            "cores_not_granted", requested=as_list(requested_cores), granted=as_list(granted_cores)
        )
    nodes = nodes_of(granted_cores)
    if len(nodes) > 1:
        yield diagnostic(
            "cores_on_several_nodes", cores=as_list(granted_cores), nodes=as_list(nodes)
        )
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


_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_SAVING_GOVERNORS = ("powersave", "conservative")


def describe_round(threads: int) -> Surroundings:
    """What can differ from round to round: load, governor, cores, scheduler, thread settings."""
    return {
        "load_1min": os.getloadavg()[0],
        "governor": text_of(_GOVERNOR),
        **place_now(),
        "threads": threads,
    }


def round_warnings(environment: Surroundings) -> Iterator[Diagnostic]:
    """Conditions under which the tail should not be trusted."""
    load_1min, cores = environment["load_1min"], os.cpu_count() or 1
    if has_other_load(load_1min, cores):
        yield diagnostic("cpu_oversubscribed", load_1min=load_1min, cores=cores)
    governor = environment["governor"]
    if governor in _SAVING_GOVERNORS:
        yield diagnostic("cpu_governor", governor=governor)
