"""Numbers, times and percentiles of a plan as text and back, without a lost digit."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from exporters.types import InvalidValue

NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
"""A number as people write it, part of a pattern: no sign, no exponent, no endless digits."""


def plain(number: float) -> str:
    """The shortest text that is read as the same number, without an exponent: `1000000`, `0.05`."""
    text = str(number) if isinstance(number, int) else repr(float(number))
    return _without_exponent(Decimal(text)) if "e" in text else text.removesuffix(".0")


def scaled(text: str, factor: float) -> float:
    """The number in `text` times `factor`, multiplied in decimal digits and rounded once."""
    return float(Decimal(text) * Decimal(repr(factor)))


def divided(number: float, divisor: float) -> str:
    """The text of `number / divisor`, divided in decimal digits: `scaled` gives the number back."""
    return _without_exponent(Decimal(repr(float(number))) / Decimal(repr(divisor)))


def _without_exponent(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


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
    unit = next(name for name, factor in units.items() if milliseconds % factor == 0)
    return f"{milliseconds // units[unit]}{unit}"


MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}
MICROSECONDS_NUMBER, UNIT = rf"(?P<time>{NUMBER})", r"(?P<unit>us|ms|s)"
TIME = MICROSECONDS_NUMBER + UNIT
"""Part of a pattern, for `microseconds` of what was found."""


def microseconds(time: str, unit: str) -> float:
    """Of the two groups of `TIME`."""
    return scaled(time, MICROSECONDS[unit])


def time_text(time_us: float) -> str:
    """All digits in the largest unit that fits, such as `1.5ms`: `microseconds` gives `us` back."""
    unit = next((unit for unit in ("s", "ms") if time_us >= MICROSECONDS[unit]), "us")
    return f"{plain(time_us) if unit == 'us' else divided(time_us, MICROSECONDS[unit])}{unit}"


DEFAULT: tuple[float, ...] = (50, 90, 95, 99, 99.9)
"""Those that every row tells."""
MAXIMUM_SAMPLES = 100_000_000
"""A percentile that takes more independent runs than this, no round of any length supports."""
_NAME = re.compile(r"p(\d\d)(\d*)")


def name_of(percentile: float) -> str:
    """`p9999` of 99.99, `p05` of 5: two digits before the point, and the point left out."""
    integer, _, part = percentile_text(percentile).partition(".")
    return f"p{integer:0>2}{part}"


def percentile_text(percentile: float) -> str:
    """`99.99`, `50`: no exponent, no needless digit."""
    return f"{percentile:.12f}".rstrip("0").rstrip(".")


def percentile_of(name: str) -> float | None:
    """99.99 of `p9999`; None for what names no percentile."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    percentile = float(f"{match[1]}.{match[2] or 0}")
    return percentile if percentile > 0 and name_of(percentile) == name else None


def percentile_label(name: str) -> str:
    """`p99.99` of `p9999`, as people write it."""
    percentile = percentile_of(name)
    return name if percentile is None else f"p{percentile_text(percentile)}"


def share(percentile: float) -> float:
    """0.9999 of 99.99, rounded as if it had been written so."""
    return round(percentile / 100, 14)


def refusal(percentile: float) -> InvalidValue | None:
    """Why no row can tell it, with the remedy; None for one that can be told."""
    if not 0 < percentile < 100:
        return InvalidValue(f"{percentile:g} is no percentile", "give numbers between 0 and 100")
    if float(percentile_text(percentile)) != percentile:
        return InvalidValue(f"{percentile!r} has more than 12 decimals", "give fewer")
    outside = min(share(percentile), 1.0 - share(percentile))
    if outside <= 0.0 or math.ceil(-math.log(0.025) / outside) > MAXIMUM_SAMPLES:
        limit_text = f"more than {MAXIMUM_SAMPLES:,} independent runs"
        return InvalidValue(
            f"{percentile_text(percentile)} takes {limit_text}", "give one that is less extreme"
        )
    return None


def with_default_percentiles(percentiles: tuple[float, ...]) -> tuple[float, ...]:
    """What a row tells: the default ones, then what else was chosen, in rising order."""
    return (*DEFAULT, *sorted(set(percentiles) - set(DEFAULT)))
