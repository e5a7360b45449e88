"""What else happened on the machine while a round was timed, as its measuring process counted it.

Counted around each block of runs and kept with the round, so that a slow run can be laid beside
what came in its block.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A block of runs in which something was seen; `begun_ns` and `ended_ns` as samples have them.

    `steal_ms` is what the hypervisor took of the usable cores, in steps of the kernel's tick.
    `many_interrupts` and `low_clock` are against the round's other blocks.
    """

    begun_ns: int
    ended_ns: int
    steal_ms: float = 0.0
    involuntary_switches: int = 0
    major_faults: int = 0
    many_interrupts: bool = False
    low_clock: bool = False


@dataclass(frozen=True, slots=True)
class Interference:
    """Counts over the measured blocks of a round, which took `seconds`.

    Switches and page faults are the measuring process's own, of all its threads; interrupts are
    the machine's; the clock is that of the core that timed. None: this system does not tell.
    `disturbances` are the blocks in which something came between.
    """

    seconds: float
    steal_share: float | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    interrupts: int | None = None
    cpu_mhz_min: float | None = None
    cpu_mhz_mean: float | None = None
    cpu_mhz_max: float | None = None
    temperature_c: float | None = None
    disturbances: tuple[Disturbance, ...] = ()
