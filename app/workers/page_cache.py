"""Which files a process uses, and to have the system forget them before another one does.

`posix_fadvise` drops the clean pages of a file that no process has mapped, for which nobody has
to be root, and of nothing else on the machine; `mincore` then tells what stayed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_MAP_FAILED = ctypes.c_void_p(-1).value
_MAPS = Path("/proc/self/maps")


def files_in_use() -> set[str]:
    """The files that this process has mapped, and those that its modules came from."""
    modules = [getattr(module, "__spec__", None) for module in tuple(sys.modules.values())]
    named = {getattr(spec, name, None) for spec in modules for name in ("origin", "cached")}
    return mapped_files() | {path for path in named if isinstance(path, str) and _is_file(path)}


def mapped_files() -> set[str]:
    """The files that are mapped into this process: those can't be dropped."""
    lines = _MAPS.read_text("utf-8", "surrogateescape").splitlines() if _MAPS.exists() else []
    fields = (line.split(maxsplit=5) for line in lines)
    return {field[5] for field in fields if len(field) == 6 and _is_file(field[5])}


def drop(paths: Iterable[str]) -> float:
    """Have the system forget the files; the share of their bytes that is still in memory.

    What this process has mapped itself is left out: the interpreter and numpy are here already.
    """
    kept = total = 0
    for path in sorted(set(paths) - mapped_files()):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # gone since, as a file that an engine unpacks for itself
        try:
            os.fsync(descriptor)  # pages that are not written yet can't be dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(descriptor).st_size
            kept += _pages_in_memory(descriptor, size)
            total += _pages(size)
        finally:
            os.close(descriptor)
    return kept / total if total else 0.0


def _pages_in_memory(descriptor: int, size: int) -> int:
    """How many pages of a file are in memory, as `mincore` tells without reading one of them."""
    if not size:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_long,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _MAP_FAILED:
        return _pages(size)
    told = ctypes.create_string_buffer(_pages(size))
    failed = libc.mincore(address, size, told)
    libc.munmap(address, size)
    return _pages(size) if failed else sum(byte & 1 for byte in told.raw)


def _pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE)


def _is_file(path: str) -> bool:
    return path.startswith("/") and os.path.isfile(path)  # noqa: PTH113 - of thousands of names
