"""A time of runs and requests as people write it, in microseconds: `20us`, `5ms`, `1s`."""

from __future__ import annotations

MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}
NUMBER, UNIT = r"(?P<time>\d+(?:\.\d+)?)", r"(?P<unit>us|ms|s)"
TIME = NUMBER + UNIT
"""Part of a pattern, for `microseconds` of what was found."""


def microseconds(time: str, unit: str) -> float:
    """Of the two groups of `TIME`."""
    return float(time) * MICROSECONDS[unit]
