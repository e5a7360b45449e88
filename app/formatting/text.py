"""Text for people: numbers with units and digits, foreign names and messages made printable.

A file's name may hold any byte but two, a message whatever a graph's nodes are called. The
manifest and the journal keep both exactly, as JSON; here is decided how all else shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

_BYTE = range(0xDC80, 0xDD00)
"""What Python makes of a byte of a name that is no UTF-8."""


def printable(text: str) -> str:
    r"""For a terminal or a window: what would steer it, or not show, is spelled: `\x1b`."""
    return text if text.isprintable() else _spell(text, str.isprintable)


def one_line(text: str) -> str:
    """The same of a sentence, which may have come in several lines."""
    return printable(" ".join(text.split()))


def storable(text: str) -> str:
    r"""For a file in UTF-8: only what that can't carry, or no reader takes, is spelled: `\xff`."""
    return _spell(text, _is_storable) if "\0" in text or not _encodes(text) else text


def _spell(text: str, is_allowed: Callable[[str], bool]) -> str:
    return "".join(char if is_allowed(char) else _escape(char) for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    if code in _BYTE:
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def _is_storable(char: str) -> bool:
    return char != "\0" and _encodes(char)


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


NOT_MEASURED = "-"
CLOCK_TEXT: dict[str, str] = {
    "wall": "wall clock",
    "device": "device clock",
    "simulated": "simulated",
    "imported": "another program's clock",
}
_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNT_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_MAXIMUM_RATIO = 100
TOO_NOISY = "too noisy for an interval"
_MAXIMUM_SPREAD = 10.0
"""An interval whose ends are further apart, as a ratio, is not shown to people."""


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without exponent: 0.0123, 4.50, 1230."""
    if value == 0.0 or not math.isfinite(value):
        return "0" if value == 0.0 else str(value)
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded_value = round(value, decimals)
    decimals = digits - 1 - math.floor(math.log10(abs(rounded_value)))
    return f"{rounded_value:.{max(0, decimals)}f}"


def time_text(seconds: float, digits: int = 3) -> str:
    """A duration with its unit: 2.48 µs, 163 µs, 1.20 ms."""
    scale, unit = _time_unit(seconds)
    return f"{significant(seconds / scale, digits)} {unit}"


def latency(microseconds: float | None) -> str:
    """The same of a latency as rows have it; `-` where there is none."""
    return NOT_MEASURED if microseconds is None else time_text(microseconds * 1e-6)


def figure(value: float, unit: str) -> str:
    """A latency in microseconds (`us`) or a throughput (`per_s`)."""
    return rate_text(value) if unit == "per_s" else latency(value)


def is_too_noisy(low: float, high: float) -> bool:
    """Whether an interval of a positive figure says so little that it is not shown."""
    return high > _MAXIMUM_SPREAD * low


def interval(low_us: float | None, high_us: float | None) -> str:
    """`24.05 to 24.31 µs` for a latency; a wide interval is not shown."""
    if low_us is None or high_us is None:
        return NOT_MEASURED
    return TOO_NOISY if is_too_noisy(low_us, high_us) else latency_range(low_us, high_us)


def rate_interval(low_per_s: float, high_per_s: float) -> str:
    """`703 to 727/s` for a throughput; a wide interval is not shown."""
    if is_too_noisy(low_per_s, high_per_s):
        return TOO_NOISY
    return f"{amount(low_per_s)} to {rate_text(high_per_s)}"


def ratio_interval(low: float, high: float) -> str:
    """`1.054 to 1.141` for a ratio of two figures; a wide interval is not shown."""
    if is_too_noisy(low, high):
        return TOO_NOISY
    return f"{significant(low, 4)} to {significant(high, 4)}"


def latency_range(low_us: float, high_us: float) -> str:
    """`24.05 to 24.31 µs`: in one unit where that can be, a digit more than a latency alone."""
    if low_us * _MAXIMUM_RATIO < high_us:
        return f"{latency(low_us)} to {latency(high_us)}"
    scale, unit = _time_unit(high_us * 1e-6)
    low, high = (significant(bound * 1e-6 / scale, 4) for bound in (low_us, high_us))
    return f"{low} to {high} {unit}"


def share(value: float | None) -> str:
    """`0.013 %`, `12 %`; `-` where there is none."""
    return NOT_MEASURED if value is None else f"{significant(100 * value, 2)} %"


def time_tick(seconds: float) -> str:
    """A round duration as an axis prints it: 5 µs, 100 µs, 1.05 ms."""
    scale, unit = _time_unit(seconds)
    return f"{seconds / scale:.6g} {unit}"


def count(number: int | None) -> str:
    """`11,908,100`."""
    return NOT_MEASURED if number is None else f"{number:,}"


def counted(number: int, noun: str) -> str:
    """`1 round`, `1,204 rounds`: the noun in the number of what it counts."""
    plural = "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number:,} {noun}{plural * (number != 1)}"


def first_of(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """`a, b and 1,204 more`: so many of them at most."""
    rest = f" and {len(texts) - most:,} more" * (len(texts) > most)
    return f"{separator.join(texts[:most])}{rest}"


def count_tick(value: float) -> str:
    """A round count as an axis prints it: 1, 200, 10k, 1M."""
    scale, unit = _count_unit(value)
    return f"{value / scale:.4g}{unit}"


def rate_text(per_second: float | None, unit: str = "") -> str:
    """A throughput with its unit: 727/s, 1.25k/s, 12.8 GB/s."""
    return NOT_MEASURED if per_second is None else f"{amount(per_second, unit)}/s"


def amount(number: float, unit: str = "") -> str:
    """A large number in short: 98.3k, 1.57 MB; with a unit, a space before it."""
    scale, letter = _count_unit(number)
    return f"{significant(number / scale)}{' ' if unit else ''}{letter}{unit}"


def duration(seconds: float | None) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds is None:
        return NOT_MEASURED
    total_s = round(seconds)
    if total_s < 60:
        return f"{total_s} s"
    if total_s < 3600:
        return f"{total_s // 60} min {total_s % 60:02d} s"
    return f"{total_s // 3600} h {total_s % 3600 // 60:02d} min"


def _time_unit(seconds: float) -> tuple[float, str]:
    """The largest unit of which there is one, once rounded."""
    return next((u for u in _TIME_UNITS if abs(seconds) >= u[0] * 0.9995), _TIME_UNITS[-1])


def _count_unit(value: float) -> tuple[float, str]:
    return next((u for u in _COUNT_UNITS if abs(value) >= u[0] * 0.9995), (1.0, ""))
