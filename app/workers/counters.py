"""What the system counts while it runs: read in some microseconds, from its own files.

A reading takes the root of these files, so that it can be tried on those of another machine; no
package is needed for it. What a system does not tell is None.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
_STEAL = 8
"""The place of stolen ticks in a line of /proc/stat, the core's name being 0."""
_OF_THE_CPU = ("x86_pkg_temp", "coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal")


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the machine started: ticks that a hypervisor took of some cores, and interrupts."""

    stolen_ticks: int | None
    interrupts: int | None


def read_counters(root: Path, cores: Collection[int]) -> Counters:
    """Of /proc/stat; the interrupts are those of all cores."""
    stolen, interrupts = None, None
    wanted = {b"cpu%d" % core for core in cores}
    try:
        lines = (root / "proc/stat").read_bytes().splitlines()
    except OSError:
        return Counters(None, None)
    for line in lines:
        words = line.split(None, _STEAL + 1)
        if words[0] in wanted and len(words) > _STEAL:
            stolen = (stolen or 0) + int(words[_STEAL])
        elif words[0] == b"intr":
            interrupts = int(words[1])
    return Counters(stolen, interrupts)


def read_clock_mhz(root: Path, core: int | None) -> float | None:
    """The clock of one core now, by cpufreq."""
    if core is None:
        return None
    khz = _number(root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq")
    return None if khz is None else khz / 1e3


def thermometer(root: Path) -> Path | None:
    """The file in which the processor's temperature stands, in thousandths of a degree."""
    zones = (root / "sys/class/thermal").glob("thermal_zone*/type")
    chips = (root / "sys/class/hwmon").glob("hwmon*/name")
    found = {_text(path): path.with_name("temp") for path in sorted(zones)}
    found |= {_text(path): path.with_name("temp1_input") for path in sorted(chips)}
    return next((found[name] for name in _OF_THE_CPU if name in found), None)


def read_temperature_c(file: Path | None) -> float | None:
    """What the thermometer says now."""
    thousandths = None if file is None else _number(file)
    return None if thousandths is None else thousandths / 1e3


def core_finder() -> Callable[[], int | None]:
    """A call that tells the core which it runs on, where the C library can tell."""
    find = getattr(ctypes.CDLL(None), "sched_getcpu", None)
    return (lambda: None) if find is None else find


def ticks_per_s() -> int:
    """In how many steps a second the kernel counts time."""
    return os.sysconf("SC_CLK_TCK")


def _number(path: Path) -> int | None:
    text = _text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return None
