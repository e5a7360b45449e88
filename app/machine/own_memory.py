"""A process's own memory: where it lies, which of it is in use, and which is in huge pages."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from app.machine.system import text_of

Parts: TypeAlias = list[tuple[int, int]]
"""Addresses, each from its begin to its end."""
_SELF = Path("/proc/self")
_DONTFORK, _DOFORK, _COLLAPSE = 10, 11, 25
_CHUNK_BYTES, _HUGE_BYTES = 1 << 16, 1 << 21


def anonymous_memory() -> dict[int, int]:
    """Where this process's own memory begins and ends, by the addresses of its parts."""
    parts = {}
    for line in (text_of(_SELF / "maps") or "").splitlines():
        place, flags, _, _, inode, *name = line.split()
        if flags == "rw-p" and inode == "0" and name != ["[stack]"]:
            begin, end = place.split("-")
            parts[int(begin, 16)] = int(end, 16)
    return parts


def memory_since(before: Mapping[int, int]) -> Parts:
    """What this process has taken since it held `anonymous_memory` of this."""
    parts = ((before.get(begin, begin), end) for begin, end in anonymous_memory().items())
    return [(begin, end) for begin, end in parts if end > begin]


class MemoryUse:
    """Which of these parts is used from now on until `used`, in pieces of 64 KiB.

    The system tells for each of its areas whether any page of it was referenced; neighbours are
    areas of their own as long as only one of them would be a child's.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        for begin, end in parts:
            for place in range(begin, end, 2 * _CHUNK_BYTES):
                _advise(place, min(place + _CHUNK_BYTES, end), _DONTFORK)
        with suppress(OSError):  # what was ever used counts then
            (_SELF / "clear_refs").write_text("1", "ascii")

    def used(self) -> Parts:
        """Once: what was used; all where the system does not tell."""
        parts = [
            (begin, end)
            for begin, end in _referenced()
            if any(first <= begin and end <= last for first, last in self._parts)
        ]
        for begin, end in self._parts:
            _advise(begin, end, _DOFORK)
        return parts or self._parts


def _referenced() -> Iterator[tuple[int, int]]:
    begin = end = 0
    for line in (text_of(_SELF / "smaps") or "").splitlines():
        name, _, rest = line.partition(" ")
        if "-" in name:
            begin, end = (int(address, 16) for address in name.split("-"))
        elif name == "Referenced:" and rest.split() != ["0", "kB"]:
            yield begin, end


def all_but(parts: Parts) -> Parts:
    """This process's own memory without these parts, but for gaps of less than 64 KiB."""
    gaps: Parts = []
    for first, last in anonymous_memory().items():
        held = sorted(part for part in parts if first <= part[0] and part[1] <= last)
        ends = [first, *(place for part in held for place in part), last]
        gaps += zip(ends[::2], ends[1::2], strict=True)
    return [(begin, end) for begin, end in gaps if end - begin >= _CHUNK_BYTES]


def collapse_memory(parts: Parts) -> None:
    """Move into huge pages what of these parts fills such, also memory that was taken by other ways
    than malloc's main heap: madvise(2) with MADV_COLLAPSE, of Linux 6.1."""
    for begin, end in parts:
        first = -(-begin // _HUGE_BYTES) * _HUGE_BYTES
        _advise(first, end // _HUGE_BYTES * _HUGE_BYTES, _COLLAPSE)


def _advise(begin: int, end: int, advice: int) -> None:
    """Madvise(2); what it refuses stays as it is."""
    if end > begin:
        call = ctypes.CDLL(None).madvise
        call(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), advice)


def huge_page_fraction() -> float | None:
    """Which fraction of this process's own memory is in huge pages; None where the system does not
    tell."""
    text = text_of(_SELF / "smaps_rollup") or ""
    own, huge = (
        sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(name))
        for name in ("Anonymous:", "AnonHugePages:")
    )
    return huge / own if own else None
