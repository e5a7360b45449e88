"""What a process may have of the system so that less disturbs it: locked memory, a real-time
priority. Each is tried, and read back, because what is permitted depends on more than one limit."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

_MCL_CURRENT, _MCL_FUTURE = 1, 2
_STATUS = Path("/proc/self/status")
_RT_PERIOD, _RT_RUNTIME = "sched_rt_period_us", "sched_rt_runtime_us"
HIGHEST_PRIORITY = 99


def lock_memory() -> str:
    """Keep all of this process in memory, what it allocates later too; why not, or "".

    Mlockall(2) with MCL_CURRENT and MCL_FUTURE.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE):
        return os.strerror(ctypes.get_errno())
    return ""


def unlock_memory() -> None:
    """Take back `lock_memory`, by munlockall(2)."""
    ctypes.CDLL(None).munlockall()


def memory_locked() -> bool | None:
    """Whether the system counts memory of this process as locked; None where it does not tell."""
    with suppress(OSError):
        for line in _STATUS.read_text("ascii", "replace").splitlines():
            if line.startswith("VmLck:"):
                return int(line.split()[1]) > 0
    return None


def take_realtime(priority: int) -> str:
    """Run this thread, and what it starts, before all that is not real-time; why not, or "".

    Sched_setscheduler(2) with SCHED_FIFO.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def scheduler() -> str | None:
    """How this thread is scheduled: `other`, `batch`, `idle`, `fifo 10`, `rr 10`."""
    if not hasattr(os, "sched_getscheduler"):
        return None
    names = {
        os.SCHED_OTHER: "other",
        os.SCHED_BATCH: "batch",
        os.SCHED_IDLE: "idle",
        os.SCHED_FIFO: "fifo",
        os.SCHED_RR: "rr",
    }
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    return names.get(policy, f"policy {policy}") + (f" {priority}" if priority else "")


def highest_realtime() -> int:
    """The highest priority that this process may take, found by taking it for a moment; 0: none."""
    if not hasattr(os, "sched_setscheduler"):
        return 0
    import resource

    before = os.sched_getscheduler(0), os.sched_getparam(0)
    allowed, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    for priority in (HIGHEST_PRIORITY, min(allowed, HIGHEST_PRIORITY)):
        if priority > 0 and not take_realtime(priority):
            os.sched_setscheduler(0, *before)
            return priority
    return 0


def held_back_share(root: Path = Path("/")) -> float:
    """The share of time that the system keeps from real-time processes; 0 where it does not."""
    try:
        period, runtime = (
            int((root / "proc/sys/kernel" / name).read_text("ascii"))
            for name in (_RT_PERIOD, _RT_RUNTIME)
        )
    except (OSError, ValueError):
        return 0.0
    return max(0.0, 1.0 - runtime / period) if runtime >= 0 else 0.0
