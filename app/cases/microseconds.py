"""A time of runs and requests as people write it, in microseconds: `20us`, `5ms`, `1s`."""

from __future__ import annotations

from app.cases.digits import NUMBER as _NUMBER
from app.cases.digits import divided, plain, scaled

MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}
NUMBER, UNIT = rf"(?P<time>{_NUMBER})", r"(?P<unit>us|ms|s)"
TIME = NUMBER + UNIT
"""Part of a pattern, for `microseconds` of what was found."""


def microseconds(time: str, unit: str) -> float:
    """Of the two groups of `TIME`."""
    return scaled(time, MICROSECONDS[unit])


def time_text(us: float) -> str:
    """All digits in the largest unit that fits, such as `1.5ms`: `microseconds` gives `us` back."""
    unit = next((unit for unit in ("s", "ms") if us >= MICROSECONDS[unit]), "us")
    return f"{plain(us) if unit == 'us' else divided(us, MICROSECONDS[unit])}{unit}"
