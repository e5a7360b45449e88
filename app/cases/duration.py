"""A time as people write it, in seconds."""

from __future__ import annotations

import math
import re

from app.cases.digits import NUMBER, plain, scaled
from exporters.invalid_value import InvalidValue

_TIME = re.compile(rf"(?P<number>{NUMBER})\s*(?P<unit>ms|s|min|m|h)?")
_SECONDS = {"ms": 1e-3, "s": 1.0, None: 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_LONGEST_S = 366 * 24 * 3600.0


def parse_duration(text: str) -> float:
    """Seconds of `90`, `90s`, `2m`, `2min` or `500ms`; ValueError with one sentence."""
    match = _TIME.fullmatch(text.strip())
    seconds = scaled(match["number"], _SECONDS[match["unit"]]) if match else 0.0
    if not 0.0 < seconds <= _LONGEST_S:
        raise InvalidValue(f"{text} is no time", "write it like 90s or 2m")
    return seconds


def parse_spread(text: str) -> float:
    """The same, and 0 seconds of `0`, with or without a unit."""
    match = _TIME.fullmatch(text.strip())
    if match and scaled(match["number"], 1.0) == 0.0:
        return 0.0
    return parse_duration(text)


def duration_text(seconds: float) -> str:
    """A whole number of the largest unit that has one, such as `30m`; else all digits in seconds.

    `parse_duration` gives the same seconds back.
    """
    if not math.isfinite(seconds * 1e3):  # of a damaged journal, whose reader says so
        return f"{seconds}s"
    milliseconds = round(seconds * 1e3)
    if milliseconds / 1e3 != seconds:
        return f"{plain(seconds)}s"
    units = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
    unit = next(name for name, one in units.items() if milliseconds % one == 0)
    return f"{milliseconds // units[unit]}{unit}"
