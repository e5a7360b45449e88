"""The nodes of memory that cores belong to, and keeping a process's memory to one of them."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Collection
from pathlib import Path

from app.machine.cores import listed

_NODES = "sys/devices/system/node"
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
"""System calls have no function in libc for it; it is in libnuma, which few have."""
_BIND = 2
_MOST_NODES = 1024


def nodes_of(cores: Collection[int], root: Path = Path("/")) -> tuple[int, ...]:
    """The nodes that have any of these cores; () where the system does not tell."""
    found = {
        int(file.parent.name.removeprefix("node"))
        for file in (root / _NODES).glob("node[0-9]*/cpulist")
        if set(cores) & _cores(file)
    }
    return tuple(sorted(found))


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
    failed = libc.syscall(number, _BIND, mask, ctypes.c_ulong(_MOST_NODES + 1))
    return os.strerror(ctypes.get_errno()) if failed else ""


def _cores(file: Path) -> set[int]:
    """A node of memory alone has an empty list."""
    try:
        return set(listed(file.read_text("ascii")))
    except (OSError, ValueError):
        return set()
