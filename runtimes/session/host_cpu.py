"""What this machine's processor is: its name, as its maker writes it, what it multiplies, and how
many of its cores there are for us."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
_BF16_FEATURES = frozenset({"amx_bf16", "avx512_bf16", "bf16"})
"""The kernel's words for them: two of x86-64, one of Arm."""


@cache
def cpu_name() -> str:
    """The first `model name` of /proc/cpuinfo, or what the platform module knows."""
    return next(_told("model name"), platform.processor() or platform.machine())


def usable_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def multiplies_bf16() -> bool:
    """Whether it says that it has instructions for products in bfloat16."""
    words = (*_told("flags"), *_told("Features"))
    return any(_BF16_FEATURES & {*line.split()} for line in words)


def _told(wanted: str) -> Iterator[str]:
    """What /proc/cpuinfo says so of each core; nothing where there is no such file."""
    try:
        lines = CPU_INFO.read_text("utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == wanted:
            yield value.strip()
