"""Placement of a process: cores, memory nodes, huge pages, locked memory, real-time priority."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from app.cases.process_settings import HIGHEST_PRIORITY
from app.machine.system import text_of
from exporters.types import InvalidValue

_PART = re.compile(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?")
"""Linux holds at most 8192 cores."""


def usable_cores() -> set[int]:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def cores_online(root: Path = Path("/")) -> set[int]:
    """The cores that this machine has at work, whoever may use them."""
    try:
        return set(listed((root / "sys/devices/system/cpu/online").read_text("ascii")))
    except (OSError, ValueError):
        return set(range(os.cpu_count() or 1))


def listed(text: str) -> tuple[int, ...]:
    """The numbers of `2,3` or `0-3,8`, as Linux writes them; ValueError with one sentence."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if first > last:
            raise InvalidValue("is no list of cores", "write it as 2,3 or 2-5")
        numbers |= set(range(first, last + 1))
    return tuple(sorted(numbers))


def as_list(numbers: Collection[int]) -> str:
    """The same back: `0-3,8`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ",".join("-".join(map(str, ends)) for ends in ranges)


def keep_to(cores: Collection[int]) -> None:
    """Keep the calling thread, and what it starts from now on, to these cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


@contextmanager
def on_cores(cores: Collection[int]) -> Iterator[None]:
    """What is started inside has these cores, whichever the calling thread keeps to."""
    original_cores = usable_cores()
    keep_to(cores)
    try:
        yield
    finally:
        keep_to(original_cores)


_NODES = "sys/devices/system/node"
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
"""System calls have no function in libc for it; it is in libnuma, which few have."""
_BIND = 2
_MOST_NODES = 1024


def nodes_of(cores: Collection[int], root: Path = Path("/")) -> tuple[int, ...]:
    """The nodes that have any of these cores; () where the system does not tell."""
    nodes = {
        int(file.parent.name.removeprefix("node"))
        for file in (root / _NODES).glob("node[0-9]*/cpulist")
        if set(cores) & _cores(file)
    }
    return tuple(sorted(nodes))


def nodes_with_memory(root: Path = Path("/")) -> tuple[int, ...]:
    """() where the system does not tell."""
    try:
        return listed((root / _NODES / "has_memory").read_text("ascii"))
    except (OSError, ValueError):
        return ()


def bind_memory(node: int) -> str:
    """Take the memory that this thread, and what it starts, touches from now on of one node.

    Why it was not done, or "". Set_mempolicy(2) with MPOL_BIND.
    """
    number = _SET_MEMPOLICY.get(platform.machine())
    if number is None:
        return "this system's call for it is not known"
    libc = ctypes.CDLL(None, use_errno=True)
    word = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (_MOST_NODES // word))()
    mask[node // word] = 1 << node % word
    # The kernel reads one bit less than it is told.
    error_code = libc.syscall(number, _BIND, mask, ctypes.c_ulong(_MOST_NODES + 1))
    return os.strerror(ctypes.get_errno()) if error_code else ""


def _cores(file: Path) -> set[int]:
    """A node of memory alone has an empty list."""
    try:
        return set(listed(file.read_text("ascii")))
    except (OSError, ValueError):
        return set()


_TUNABLES, _ALL = "GLIBC_TUNABLES", 1 << 32
_HUGE_PAGES = (
    f"glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold={_ALL}:glibc.malloc.trim_threshold={_ALL}"
)
_LEAST_GLIBC = (2, 35)
_THP = "sys/kernel/mm/transparent_hugepage/enabled"


def with_huge_pages(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process whose malloc asks for transparent huge pages, and returns
    nothing that it frees to the system; glibc reads it as the process starts."""
    tunables = filter(None, (environ.get(_TUNABLES), _HUGE_PAGES))
    return {**environ, _TUNABLES: ":".join(tunables)}


def huge_pages_refusal(root: Path = Path("/")) -> str:
    """Why a process started `with_huge_pages` has none here, or ""."""
    name, release = "", "0"
    with suppress(OSError, ValueError):  # of another C library
        name, _, release = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    if name != "glibc" or tuple(map(int, release.split(".")[:2])) < _LEAST_GLIBC:
        return "the C library is not glibc 2.35 or later"
    if (text_of(root / _THP) or "[never]").endswith("[never]"):
        return f"/{_THP} has neither madvise nor always"
    return ""


_SET_THP_DISABLE = 41


def refuse_huge_pages() -> None:
    """Have no more memory of this process in huge pages: prctl(2) with PR_SET_THP_DISABLE, which
    only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_THP_DISABLE, 1, 0, 0, 0)


_MCL_CURRENT, _MCL_FUTURE = 1, 2
_STATUS = Path("/proc/self/status")
_RT_PERIOD, _RT_RUNTIME = "sched_rt_period_us", "sched_rt_runtime_us"


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
    lines = (text_of(_STATUS) or "").splitlines()
    return next((int(line.split()[1]) > 0 for line in lines if line.startswith("VmLck:")), None)


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

    original_policy = os.sched_getscheduler(0), os.sched_getparam(0)
    limit, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    for priority in (HIGHEST_PRIORITY, min(limit, HIGHEST_PRIORITY)):
        if priority > 0 and not take_realtime(priority):
            os.sched_setscheduler(0, *original_policy)
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
