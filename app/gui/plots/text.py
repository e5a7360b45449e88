"""Numbers as people read them on axes, labels and cells; never used for files."""

from __future__ import annotations

import math

from runtimes.execution import Clock

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNT_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))

CLOCK_TEXT: dict[Clock, str] = {
    "wall": "wall clock",
    "device": "device clock",
    "simulated": "simulated",
}


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without exponent: 0.0123, 4.50, 1230."""
    if value == 0.0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(0, decimals)}f}"


def time_text(seconds: float, digits: int = 3) -> str:
    """A duration with its unit: 2.48 µs, 163 µs, 1.20 ms."""
    scale, unit = next((u for u in _TIME_UNITS if abs(seconds) >= u[0] * 0.9995), _TIME_UNITS[-1])
    return f"{significant(seconds / scale, digits)} {unit}"


def time_tick(seconds: float) -> str:
    """A round duration as an axis prints it: 5 µs, 100 µs, 1.05 ms."""
    scale, unit = next((u for u in _TIME_UNITS if abs(seconds) >= u[0] * 0.9995), _TIME_UNITS[-1])
    return f"{seconds / scale:.6g} {unit}"


def count_tick(value: float) -> str:
    """A round count as an axis prints it: 1, 200, 10k, 1M."""
    scale, unit = next((u for u in _COUNT_UNITS if abs(value) >= u[0] * 0.9995), (1.0, ""))
    return f"{value / scale:.4g}{unit}"


def rate_text(per_second: float) -> str:
    """A throughput with its unit: 1.25k/s."""
    scale, unit = next((u for u in _COUNT_UNITS if abs(per_second) >= u[0] * 0.9995), (1.0, ""))
    return f"{significant(per_second / scale)}{unit}/s"
