"""Percentiles of a user's choice: what they are called in columns, and as people write them."""

from __future__ import annotations

import math
import re

from exporters.invalid_value import InvalidValue

DEFAULT: tuple[float, ...] = (50, 90, 95, 99, 99.9)
"""Those that every row tells."""
MOST_SAMPLES = 100_000_000
"""A percentile that takes more independent runs than this, no round of any length supports."""
_NAME = re.compile(r"p(\d\d)(\d*)")


def name_of(percentile: float) -> str:
    """`p9999` of 99.99, `p05` of 5: two digits before the point, and the point left out."""
    whole, _, part = written(percentile).partition(".")
    return f"p{whole:0>2}{part}"


def written(percentile: float) -> str:
    """`99.99`, `50`: no exponent, no needless digit."""
    return f"{percentile:.12f}".rstrip("0").rstrip(".")


def percentile_of(name: str) -> float | None:
    """99.99 of `p9999`; None for what names no percentile."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    percentile = float(f"{match[1]}.{match[2] or 0}")
    return percentile if percentile > 0 and name_of(percentile) == name else None


def shown(name: str) -> str:
    """`p99.99` of `p9999`, as people write it."""
    percentile = percentile_of(name)
    return name if percentile is None else f"p{written(percentile)}"


def share(percentile: float) -> float:
    """0.9999 of 99.99, rounded as if it had been written so."""
    return round(percentile / 100, 14)


def refusal(percentile: float) -> InvalidValue | None:
    """Why no row can tell it, with the remedy; None for one that can be told."""
    if not 0 < percentile < 100:
        return InvalidValue(f"{percentile:g} is no percentile", "give numbers between 0 and 100")
    if float(written(percentile)) != percentile:
        return InvalidValue(f"{percentile!r} has more than 12 decimals", "give fewer")
    outside = min(share(percentile), 1.0 - share(percentile))
    if outside <= 0.0 or math.ceil(-math.log(0.025) / outside) > MOST_SAMPLES:
        most = f"more than {MOST_SAMPLES:,} independent runs"
        return InvalidValue(f"{written(percentile)} takes {most}", "give one that is less extreme")
    return None


def told(chosen: tuple[float, ...]) -> tuple[float, ...]:
    """What a row tells: the default ones, then what else was chosen, in rising order."""
    return (*DEFAULT, *sorted(set(chosen) - set(DEFAULT)))
