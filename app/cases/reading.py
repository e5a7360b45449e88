"""One look at one device while a round runs: a line of `telemetry/`."""

from __future__ import annotations

from dataclasses import dataclass

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
