"""Which entries of the export cache a running plan needs, told by files that outlive no one.

A run reads its graphs long after they were exported, so a lease belongs to the process
that runs the plan. One file per holder, named by host, process and its start; a lease whose
process is gone counts for nothing. Callers hold the cache's lock.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_OTHER_HOSTS_LEASE_S = 24 * 3600.0
"""Another host's processes cannot be seen from here: their leases count for a day."""

_SAME_START_MS = 10_000
"""A process's start is told from the boot time, which moves a little when the clock is set."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process for which entries are kept: its host, its id, and when it began (ms)."""

    host: str
    pid: int
    started_ms: int

    @classmethod
    def process(cls, pid: int) -> Holder:
        """The holder for a process of this host; one that has just ended holds nothing."""
        try:
            started = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            started = 0.0
        return cls(socket.gethostname(), pid, round(started * 1e3))

    def file(self, folder: Path) -> Path:
        return folder / f"{self.started_ms}-{self.pid}-{self.host}"


def keys_of(holder: Holder, folder: Path) -> set[str]:
    """The keys that this holder has leased; a process that has ended needs none."""
    return set(_lines(holder.file(folder))) if holder.started_ms else set()


def add(holder: Holder, folder: Path, key: str) -> None:
    """Lease a key; leased twice it must be given back twice."""
    with holder.file(folder).open("a", encoding="ascii") as file:
        file.write(f"{key}\n")


def give_back(holder: Holder, folder: Path, keys: Sequence[str]) -> None:
    """End one lease of each key."""
    file = holder.file(folder)
    left = Counter(_lines(file)) - Counter(keys)
    file.write_text("".join(f"{key}\n" for key in left.elements()), "ascii")


def all_keys(folder: Path) -> set[str]:
    """The keys that any running process has leased; leases of ended ones are removed."""
    keys: set[str] = set()
    for file in folder.iterdir():
        if _is_held(file):
            keys.update(_lines(file))
        else:
            file.unlink(missing_ok=True)
    return keys


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("ascii").split()
    except FileNotFoundError:
        return []


def _is_held(file: Path) -> bool:
    started_ms, pid, host = file.name.split("-", 2)
    if host != socket.gethostname():
        return time.time() - file.stat().st_mtime < _OTHER_HOSTS_LEASE_S
    now = Holder.process(int(pid)).started_ms
    return bool(now) and abs(now - int(started_ms)) < _SAME_START_MS
