"""Who computes on this machine: two readings of the system's counters, and what is between them.

`root` is where the system's files lie, so that those of another machine can be read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_IDLE, _WAITING, _STOLEN = 4, 5, 8
"""Places in the first line of /proc/stat, its name being 0; guests are in other figures."""
_USER, _SYSTEM = 11, 12
"""Places in /proc/PID/stat, counted from behind the name."""


@dataclass(frozen=True, slots=True)
class Process:
    """`ticks` are those that it computed for since it began."""

    pid: int
    name: str
    ticks: int


@dataclass(frozen=True, slots=True)
class Activity:
    """All in ticks since the machine started; `total` are those of all cores together."""

    total: int
    idle: int
    stolen: int
    processes: Mapping[int, Process]


@dataclass(frozen=True, slots=True)
class Busy:
    """Between two readings: cores that computed, the share that a hypervisor took of all cores,
    and processes with the cores that each kept busy, the busiest first."""

    cores: float
    stolen_share: float
    processes: tuple[tuple[Process, float], ...]


def read_activity(root: Path) -> Activity | None:
    """None where the system does not tell."""
    try:
        words = (root / "proc/stat").read_text("ascii").split("\n", 1)[0].split()
    except OSError:
        return None
    ticks = [0, *map(int, words[1 : _STOLEN + 1])]
    if len(ticks) <= _STOLEN:
        return None
    found = map(_process, (root / "proc").glob("[0-9]*/stat"))
    processes = {process.pid: process for process in found if process is not None}
    return Activity(sum(ticks), ticks[_IDLE] + ticks[_WAITING], ticks[_STOLEN], processes)


def busy_between(before: Activity, after: Activity, cores: int, own_pid: int) -> Busy:
    """What others than `own_pid` did on the machine's `cores` meanwhile."""
    per_core = max(after.total - before.total, 1) / cores
    idle, stolen = after.idle - before.idle, after.stolen - before.stolen
    spent = {
        pid: (process.ticks - before.processes[pid].ticks) / per_core
        for pid, process in after.processes.items()
        if pid in before.processes and pid != own_pid
    }
    ranked = sorted(spent, key=lambda pid: -spent[pid])
    return Busy(
        cores - (idle + stolen) / per_core,
        stolen / per_core / cores,
        tuple((after.processes[pid], spent[pid]) for pid in ranked if spent[pid] > 0),
    )


def look(root: Path, seconds: float) -> Busy | None:
    """What goes on for so long; None where the system does not tell."""
    before = read_activity(root)
    time.sleep(seconds)
    after = read_activity(root)
    if before is None or after is None:
        return None
    return busy_between(before, after, os.cpu_count() or 1, os.getpid())


def _process(stat: Path) -> Process | None:
    """None for a process that has ended meanwhile; a name may hold blanks and brackets."""
    try:
        text = stat.read_text("utf-8", "replace")
    except OSError:
        return None
    named, _, rest = text.rpartition(")")
    words = rest.split()
    return Process(
        int(stat.parent.name), named.partition("(")[2], int(words[_USER]) + int(words[_SYSTEM])
    )
