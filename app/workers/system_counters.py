"""Counters of the system around blocks of runs, to attribute outliers to system events."""

from __future__ import annotations

import math
import os
import resource
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cases.telemetry import UNSHARED, Disturbance, Interference
from app.machine.system import text_of

ROOT = Path("/")
_STEAL = 8
"""The place of stolen ticks in a line of /proc/stat, the core's name being 0."""
_CPU_SENSORS = ("x86_pkg_temp", "coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal")


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the machine started: ticks that a hypervisor took of some cores, and interrupts."""

    stolen_ticks: int | None
    interrupts: int | None


def read_counters(root: Path, cores: Collection[int]) -> Counters:
    """Of /proc/stat; the interrupts are those of all cores."""
    stolen_ticks, interrupts = None, None
    labels = {b"cpu%d" % core for core in cores}
    try:
        lines = (root / "proc/stat").read_bytes().splitlines()
    except OSError:
        return Counters(None, None)
    for line in lines:
        words = line.split(None, _STEAL + 1)
        if words[0] in labels and len(words) > _STEAL:
            stolen_ticks = (stolen_ticks or 0) + int(words[_STEAL])
        elif words[0] == b"intr":
            interrupts = int(words[1])
    return Counters(stolen_ticks, interrupts)


def thermometer(root: Path) -> Path | None:
    """The file in which the processor's temperature stands, in thousandths of a degree."""
    zones = (root / "sys/class/thermal").glob("thermal_zone*/type")
    chips = (root / "sys/class/hwmon").glob("hwmon*/name")
    files = {text_of(path): path.with_name("temp") for path in sorted(zones)}
    files |= {text_of(path): path.with_name("temp1_input") for path in sorted(chips)}
    return next((files[name] for name in _CPU_SENSORS if name in files), None)


def read_temperature_c(file: Path | None) -> float | None:
    """What the thermometer says now."""
    thousandths = None if file is None else _number(file)
    return None if thousandths is None else thousandths / 1e3


def ticks_per_s() -> int:
    """In how many steps a second the kernel counts time."""
    return os.sysconf("SC_CLK_TCK")


def _number(path: Path) -> int | None:
    text = text_of(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


LOW_CLOCK = 0.9
"""A block whose clock is below this share of the round's highest has a low one."""
MANY_INTERRUPTS, MINIMUM_BLOCKS = 3.0, 5
"""So many times the median block's rate is far above usual, where there are so many blocks."""


@dataclass(frozen=True, slots=True)
class _BlockCounters:
    """One block: when, and what was counted from just before it to just after it."""

    begun_ns: int
    ended_ns: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    stolen_ticks: int | None
    interrupts: int | None
    cpu_mhz: float | None
    core_width: float | None
    temperature_c: float | None

    @property
    def seconds(self) -> float:
        return (self.ended_ns - self.begun_ns) * 1e-9


class Watch:
    """Tells of the measured blocks of one round; `begin` and `end` go around each of them.

    `core_clock_mhz` and `operations_per_us` measure the core that calls: None where it is not the
    one that times, but follows those that do.
    """

    def __init__(
        self,
        cores: Collection[int],
        core_clock_mhz: Callable[[], float] | None = None,
        operations_per_us: Callable[[], float] | None = None,
        root: Path = ROOT,
    ) -> None:
        self._root, self._cores = root, cores
        self._core_clock_mhz, self._operations_per_us = core_clock_mhz, operations_per_us
        self._thermometer = thermometer(root)
        self._blocks: list[_BlockCounters] = []

    def begin(self) -> None:
        self._counters = read_counters(self._root, self._cores)
        self._usage = resource.getrusage(resource.RUSAGE_SELF)
        self._clock_mhz = self._core_clock_mhz and self._core_clock_mhz()
        self._width = self._core_width()

    def end(self, records: np.ndarray) -> None:
        """`records` [n > 0] are the block's."""
        widths = [width for width in (self._width, self._core_width()) if width is not None]
        usage, start_usage = resource.getrusage(resource.RUSAGE_SELF), self._usage
        counters = read_counters(self._root, self._cores)
        self._blocks.append(
            _BlockCounters(
                int(records["started_ns"].min()),
                int(records["finished_ns"].max()),
                usage.ru_nvcsw - start_usage.ru_nvcsw,
                usage.ru_nivcsw - start_usage.ru_nivcsw,
                usage.ru_minflt - start_usage.ru_minflt,
                usage.ru_majflt - start_usage.ru_majflt,
                _difference(self._counters.stolen_ticks, counters.stolen_ticks),
                _difference(self._counters.interrupts, counters.interrupts),
                self._clock_mhz,
                min(widths, default=None),
                read_temperature_c(self._thermometer),
            )
        )

    def _core_width(self) -> float | None:
        """How many operations the core begins in a cycle now, by the block's clock."""
        if self._operations_per_us is None or not self._clock_mhz:
            return None
        return self._operations_per_us() / self._clock_mhz

    def interference(self) -> Interference | None:
        """Of all blocks so far; None before the first."""
        blocks = self._blocks
        if not blocks:
            return None
        seconds = sum(block.seconds for block in blocks)
        stolen_ticks = _sum(block.stolen_ticks for block in blocks)
        clocks_mhz = [block.cpu_mhz for block in blocks if block.cpu_mhz is not None]
        widths = [block.core_width for block in blocks if block.core_width is not None]
        # One of hundreds may be too high, of a clock that rose meanwhile.
        whole = float(np.quantile(widths, 0.95)) if widths else 0.0
        heat = [block.temperature_c for block in blocks if block.temperature_c is not None]
        available_ticks = seconds * len(self._cores) * ticks_per_s()
        return Interference(
            seconds=seconds,
            steal_share=None if stolen_ticks is None else stolen_ticks / available_ticks,
            voluntary_switches=sum(block.voluntary_switches for block in blocks),
            involuntary_switches=sum(block.involuntary_switches for block in blocks),
            minor_faults=sum(block.minor_faults for block in blocks),
            major_faults=sum(block.major_faults for block in blocks),
            interrupts=_sum(block.interrupts for block in blocks),
            block_starts_ns=tuple(block.begun_ns for block in blocks),
            cpu_mhz=tuple(round(clock, 1) for clock in clocks_mhz),
            core_widths=tuple(round(width, 3) for width in widths),
            temperature_c=max(heat, default=None),
            disturbances=tuple(self._disturbances(max(clocks_mhz, default=0.0), whole)),
        )

    @property
    def window_ns(self) -> tuple[int, int]:
        """From the first block's beginning to the last one's end; there must be one."""
        return self._blocks[0].begun_ns, self._blocks[-1].ended_ns

    def at_the_ends(self, part_s: float) -> dict[str, float]:
        """Mean clock and temperature in the first and the last so many seconds, where known."""
        if not self._blocks:
            return {}
        start_ns, end_ns = self.window_ns
        parts = {
            "first": [b for b in self._blocks if b.begun_ns < start_ns + part_s * 1e9],
            "last": [b for b in self._blocks if b.ended_ns > end_ns - part_s * 1e9],
        }
        values_by_column = {
            f"sustained_{place}_{name}": [
                value for block in blocks if (value := getattr(block, attribute)) is not None
            ]
            for place, blocks in parts.items()
            for name, attribute in (("clock_mhz", "cpu_mhz"), ("temperature_c", "temperature_c"))
        }
        return {n: statistics.fmean(v) for n, v in values_by_column.items() if v}

    def _disturbances(self, highest_mhz: float, whole: float) -> Iterator[Disturbance]:
        """The blocks in which anything was seen that slows runs down; `whole` is how many
        operations in a cycle a core begins that is not shared."""
        rates = [b.interrupts / b.seconds for b in self._blocks if b.interrupts is not None]
        usual = statistics.median(rates) if len(rates) >= MINIMUM_BLOCKS else math.inf
        for block in self._blocks:
            disturbance = Disturbance(
                block.begun_ns,
                block.ended_ns,
                (block.stolen_ticks or 0) / ticks_per_s() * 1e3,
                block.involuntary_switches,
                block.major_faults,
                (block.interrupts or 0) / block.seconds > MANY_INTERRUPTS * usual,
                (block.cpu_mhz or math.inf) < LOW_CLOCK * highest_mhz,
                (block.core_width or math.inf) < UNSHARED * whole,
            )
            if disturbance != Disturbance(block.begun_ns, block.ended_ns):
                yield disturbance


def _difference(previous: int | None, current: int | None) -> int | None:
    return None if previous is None or current is None else current - previous


def _sum(values: Iterable[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None
