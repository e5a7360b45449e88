"""What this machine permits whoever measures against deadlines; tried for a moment, then undone."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

from app.machine.cores import as_list, usable_cores
from app.machine.numa import nodes_of
from app.machine.privileges import (
    HIGHEST_PRIORITY,
    held_back_share,
    highest_realtime,
    lock_memory,
    unlock_memory,
)


def permitted() -> Iterator[str]:
    """A line each of cores, nodes of memory, locked memory and real-time priority."""
    cores = usable_cores()
    nodes = nodes_of(cores)
    yield f"  --cores        {as_list(cores)}"
    for node in nodes:
        yield f"  NUMA node {node:<3}  cores {as_list({c for c in cores if node in nodes_of({c})})}"
    if not nodes:
        yield "  NUMA node      not reported"
    yield f"  --lock-memory  {_locking()}"
    yield f"  --realtime     {_realtime()}"


def _locking() -> str:
    why = lock_memory()
    if why:
        return f"not permitted ({why}); use root, CAP_IPC_LOCK, or a higher ulimit -l"
    unlock_memory()
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit == resource.RLIM_INFINITY or limit < _own_bytes():
        return "permitted"
    return f"permitted up to {limit / 2**20:,.0f} MiB, beyond which engines get no memory"


def _realtime() -> str:
    highest = highest_realtime()
    if not highest:
        return "not permitted; use root, CAP_SYS_NICE, or a higher ulimit -r"
    told = "permitted" if highest == HIGHEST_PRIORITY else f"permitted up to {highest}"
    held_back = held_back_share()
    if held_back:
        told += (
            f"; held back {held_back * 1e3:.0f} ms of each second where others wait for the core"
        )
    return told


def _own_bytes() -> int:
    """What this process holds of addresses: with more than its limit locked, none applies."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()
