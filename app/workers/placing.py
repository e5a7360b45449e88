"""Where the measuring process runs and what it has of the system: taken, read back, and told.

Cores, memory of their node and the priority are taken before the engine is loaded, so that its
threads and its memory follow. Memory is locked just before the warm-up, when the engine's is there.
"""

from __future__ import annotations

from collections.abc import Collection
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
from runtimes.faults import Unsupported

_FIFO = "run as root, with CAP_SYS_NICE, or raise ulimit -r"
_LOCK = "run as root, with CAP_IPC_LOCK, or raise ulimit -l"
_BIND = "a container needs CAP_SYS_NICE for that"


def take_place(job: MeasureJob) -> list[str]:
    """Do what the job says of cores, node and priority; a sentence for each that was not had."""
    said = [*_take_cores(job.affinity), *_take_priority(job.realtime)]
    if job.shared:
        said.append(
            "the batch process shares the measured cores, since there are no others: "
            "leave one out of --cores"
        )
    return said


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
            "choose more --cores, or leave --realtime out",
        )


def hold_memory(job: MeasureJob, result: RoundResult) -> dict[str, Any]:
    """What `result` says anew of its environment and its warnings, memory locked if asked for."""
    why = lock_memory() if job.lock_memory else ""
    said = (f"memory could not be locked ({why}): {_LOCK}",) if why else ()
    return {
        "environment": {**result.environment, "memory_locked": memory_locked()},
        "warnings": (*result.warnings, *said),
    }


def place_now() -> Surroundings:
    """Cores, nodes of memory and scheduler as they are."""
    cores = sorted(usable_cores())
    return {"affinity": cores, "numa_nodes": list(nodes_of(cores)), "scheduler": scheduler()}


def _take_cores(asked: Collection[int]) -> list[str]:
    if not asked:
        return []
    with suppress(OSError):  # what was had instead is told
        keep_to(asked)
    had, said = usable_cores(), []
    if had != set(asked):
        said.append(
            f"cores {as_list(asked)} were asked for and {as_list(had)} were had: "
            "another hand has changed what is allowed"
        )
    nodes = nodes_of(had)
    if len(nodes) > 1:
        said.append(
            f"cores {as_list(had)} belong to {len(nodes)} nodes of memory ({as_list(nodes)}): "
            "choose --cores of one"
        )
    elif nodes and len(nodes_with_memory()) > 1:
        why = bind_memory(nodes[0])
        if why:
            said.append(f"memory could not be kept to node {nodes[0]} ({why}): {_BIND}")
    return said


def _take_priority(priority: int | None) -> list[str]:
    if priority is None:
        return []
    why = take_realtime(priority)
    if why:
        return [f"SCHED_FIFO {priority} was asked for and not permitted ({why}): {_FIFO}"]
    held_back = held_back_share()
    if not held_back:
        return []
    return [
        f"real-time processes are held back {held_back * 1e3:.0f} ms of each second where others "
        "wait for their core: keep others off it (isolcpus=)"
    ]
