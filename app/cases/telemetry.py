"""Observations of the machine during a round: device samples, GPU and host state, interference.

Interference is counted around each block of runs and kept with the round, so that a slow run can be
compared with the events of its block.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

CPU_DEVICE = "cpu"
"""All processor packages together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at one device (`gpu:0`, `cpu`); None is what it does not tell.

    `time_ns` is `time.perf_counter_ns`. `energy_mj` counts from an unknown beginning, so
    that only differences mean something. `throttle` are the words for what holds the clock
    down. `process_memory_mb` is what the measuring process has on the device, in MiB, and
    `other_processes` how many others have it open; a container may hide which process is which.
    """

    time_ns: int
    device: str
    energy_mj: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] | None = None
    process_memory_mb: float | None = None
    memory_clock_mhz: float | None = None
    other_processes: int | None = None
    mps_clients: int | None = None
    """Processes that share the device through NVIDIA's Multi-Process Service."""


@dataclass(frozen=True, slots=True)
class GpuState:
    """As the driver tells it; None and "" are what it does not tell.

    `clock_limit_mhz` is the highest clock that the device has, `power_limit_w` what is enforced,
    `ecc` and `mig` whether they are on now, `link` how it is connected at this moment.
    """

    name: str
    uuid: str
    driver: str
    power_limit_w: float | None = None
    clock_limit_mhz: float | None = None
    persistence: bool | None = None
    ecc: bool | None = None
    mig: bool | None = None
    link: str = ""
    mig_profile: str = ""
    """Of a part of a divided GPU, such as `3g.40gb`."""


STEADY_CLOCK = 1.02
"""A GPU's clocks come in steps of 15 MHz, about a hundredth of what they are under load."""
_LOAD_MARGIN = 0.5
"""Rounds that keep all cores busy come to a load of a little more than their number by themselves:
204 of them, on two cores with nothing else, to 2.2 at most."""


def has_other_load(load_1min: float, cores: int) -> bool:
    """Whether the load of the last minute tells of other work, where the rounds of the same run may
    have kept all cores busy in it."""
    return load_1min > cores + _LOAD_MARGIN


def loads_obstruct(first: float, second: float, cores: int) -> bool:
    """Whether two runs that were measured apart at these loads say nothing of a change of the code:
    each thread had less than half a core in one of them, or the loads differ by more than all cores
    and the thread that was measured."""
    return max(first, second) > 2 * cores or abs(first - second) > cores + 1


class Surroundings(TypedDict, total=False):
    """Load and governor as it began, then the place that its process had: what is not known is None
    or not there.

    `affinity` are cores, `numa_nodes` their nodes, `variables` those that the process was given for
    its engine; `other_gpus` are there where it computed on several.
    """

    load_1min: float
    governor: str | None
    affinity: list[int]
    numa_nodes: list[int]
    scheduler: str | None
    threads: int
    memory_locked: bool | None
    huge_page_fraction: float | None
    variables: Mapping[str, str]
    gpu: GpuState
    other_gpus: list[GpuState]


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A block of runs in which something was seen; `begun_ns` and `ended_ns` as samples have them.

    `steal_ms` is what the hypervisor took of the usable cores, in steps of the kernel's tick.
    `many_interrupts`, `low_clock` and `shared_core`, in which another hardware thread took part of
    the core, are against the round's other blocks.
    """

    begun_ns: int
    ended_ns: int
    steal_ms: float = 0.0
    involuntary_switches: int = 0
    major_faults: int = 0
    many_interrupts: bool = False
    low_clock: bool = False
    shared_core: bool = False


UNSHARED = 0.92
"""Below this part of the most operations that it begins in a cycle a core is shared: alone it
varies by 3 %."""


@dataclass(frozen=True, slots=True)
class Interference:
    """Counts over the measured blocks of a round, which took `seconds`.

    Switches and page faults are the measuring process's own, of all its threads; interrupts are
    the machine's. Of each block, in order of time, `block_starts_ns` is when its first run began,
    `cpu_mhz` the clock of the core that timed as it began, and `core_widths` how many independent
    operations that core began in a cycle, the lesser of before and after. None, or no clock: this
    system does not tell. `disturbances` are the blocks in which something came between.
    """

    seconds: float
    steal_share: float | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    interrupts: int | None = None
    block_starts_ns: tuple[int, ...] = ()
    cpu_mhz: tuple[float, ...] = ()
    core_widths: tuple[float, ...] = ()
    temperature_c: float | None = None
    disturbances: tuple[Disturbance, ...] = ()

    @property
    def usual_mhz(self) -> float | None:
        return statistics.median(self.cpu_mhz) if self.cpu_mhz else None
