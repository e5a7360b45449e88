"""Peak arithmetic and memory bandwidth of a GPU, from the figures of its driver."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_int
from dataclasses import dataclass

from runtimes.base import DevicePeak
from runtimes.cuda import driver

# Of the driver's cuDeviceGetAttribute, as cuda.h numbers them.
_CLOCK_KHZ, _MULTIPROCESSORS, _MEMORY_CLOCK_KHZ, _MEMORY_BUS_BITS = 13, 16, 36, 37
_MAJOR, _MINOR = 75, 76
# For each compute capability the fp32 lanes of a multiprocessor (CUDA C++ Programming Guide,
# "Arithmetic Instructions") and the most dense TF32 operations that it does in a clock (the data
# sheets' peaks over multiprocessors and boost clock; 0 for none).
_BY_CAPABILITY = {
    (7, 0): (64, 0),
    (7, 5): (64, 0),
    (8, 0): (64, 1024),
    (8, 6): (128, 512),
    (8, 9): (128, 512),
    (9, 0): (128, 2048),
    (10, 0): (128, 4096),
    (12, 0): (128, 1024),
}
_TF32_MULTIPLES: Mapping[str, int] = {"tf32": 1, "fp16": 2, "bf16": 2}
"""Where there are tensor cores for TF32, their rate in narrower types, by the data sheets."""


@dataclass(frozen=True, slots=True)
class Rates:
    """At the highest clocks; None where they are not known."""

    fp32_flop_per_s: float | None
    tf32_flop_per_s: float | None
    memory_bytes_per_s: float | None


def rates_of(index: int) -> Rates:
    """Of the device that the driver gives this number."""
    capability = (_attribute(index, _MAJOR), _attribute(index, _MINOR))
    lanes, tf32 = _BY_CAPABILITY.get(capability, (None, None))
    clocks_per_s = _attribute(index, _MULTIPROCESSORS) * _attribute(index, _CLOCK_KHZ) * 1e3
    # Both edges of the memory's clock carry data.
    memory_clock = 2e3 * _attribute(index, _MEMORY_CLOCK_KHZ)
    return Rates(
        None if lanes is None else 2 * lanes * clocks_per_s,
        tf32 * clocks_per_s if tf32 else None,
        memory_clock * _attribute(index, _MEMORY_BUS_BITS) / 8 or None,
    )


def device_peak(index: int, precision: str) -> DevicePeak | None:
    """The most that a device computes in one precision; None where that is not known."""
    rates = rates_of(index)
    flop_per_s = rates.fp32_flop_per_s if precision == "fp32" else None
    if precision in _TF32_MULTIPLES and rates.tf32_flop_per_s:
        flop_per_s = _TF32_MULTIPLES[precision] * rates.tf32_flop_per_s
    if not flop_per_s or not rates.memory_bytes_per_s:
        return None
    how = f"the highest clocks of {driver.device_names()[index]}, {precision}"
    return DevicePeak(flop_per_s, rates.memory_bytes_per_s, how)


def _attribute(index: int, number: int) -> int:
    value = c_int()
    driver.library().cuDeviceGetAttribute(byref(value), number, driver.device_of(index))
    return value.value
