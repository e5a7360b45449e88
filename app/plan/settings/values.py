"""Words of settings as values, and values as words: numbers, shares, times, sizes, ranges.

Every parser takes one word and raises InvalidValue for what means nothing; what is written by a
function called `..._text` is read by its parser as the very same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from app.cases.digits import divided, plain, scaled
from app.cases.errors import suggestion
from app.cases.microseconds import NUMBER, UNIT, microseconds
from app.cases.scenario import Scenario
from exporters.invalid_value import InvalidValue
from exporters.size import parse_size

LONGEST_DEADLINE_US = 24 * 3600e6
LONGEST_PAUSE_S = 60.0
"""After a longer pause a round of any length has too few runs for a median."""
_STEPS = (1, 2, 5)


def whole(least: int) -> Callable[[str], int]:
    """The parser of whole numbers of at least so much."""

    def parse(word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            number = least - 1
        if number < least:
            raise InvalidValue(
                f"{word} is not an integer of at least {least}", "give such a number"
            )
        return number

    return parse


def share(text: str) -> float:
    """0.02 of `2%` or of `0.02`."""
    word = text.strip()
    try:
        value = scaled(word.removesuffix("%"), 0.01) if word.endswith("%") else float(word)
    except (ValueError, ArithmeticError):
        value = -1.0
    if not 0.0 <= value < 1.0:
        raise InvalidValue(f"{text!r} is no share", "write it as 2% or as 0.02")
    return value


def share_text(value: float) -> str:
    return f"{divided(value, 0.01)}%"


def size(text: str) -> str:
    """An amount of memory, as it was written."""
    size_in_bytes(text)
    return text


def size_in_bytes(text: str) -> int:
    """Bytes of a size like 8GiB."""
    try:
        return parse_size(text)
    except InvalidValue as error:
        raise InvalidValue(f"{text!r} {error.cause}", error.remedy) from None


def span(text: str) -> tuple[float, float]:
    """Both ends of `0:1`."""
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not all(map(math.isfinite, ends)):
        raise InvalidValue(f"{text} is no range", "write it as 0:1, with two finite numbers")
    return ends


def span_text(ends: Sequence[float]) -> str:
    low, high = ends
    return f"{plain(low)}:{plain(high)}"


def amount(word: str) -> float:
    """A number from 0 on."""
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise InvalidValue(f"{word} is no number of at least 0", "give one, such as 1e-3")
    return number


def percentile(word: str) -> float:
    """99.9 of `p99.9` or of `99.9`."""
    try:
        return float(word.removeprefix("p"))
    except ValueError:
        raise InvalidValue(f"{word} is no percentile", "give numbers, such as 50,99.9") from None


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """The parser of words that are among the known."""

    def parse(word: str) -> str:
        if word not in known:
            raise InvalidValue(f"{word} is not known", suggestion(word, known))
        return word

    return parse


def seconds_text(value: float) -> str:
    return f"{plain(value)}s"


def deadline(text: str) -> float:
    """Microseconds of `100us`, `2ms` or `1s`."""
    match = re.fullmatch(rf"{NUMBER}\s*{UNIT}", text.strip())
    deadline_us = microseconds(match["time"], match["unit"]) if match else 0.0
    if not 0.0 < deadline_us <= LONGEST_DEADLINE_US:
        raise InvalidValue(f"{text} is no time that a run may take", "write it like 100us or 2ms")
    return deadline_us


def deadline_text(deadline_us: float) -> str:
    return f"{plain(deadline_us)}us"


def option_text(value: object) -> str:
    """A value of a runtime's option; those that are true or false are written as 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def idle_sweep(text: str) -> list[str]:
    """Of `20us..1s` both ends and all of 1, 2 and 5 times a power of ten between, as scenarios."""
    low, dots, high = text.partition("..")
    try:
        least_ns, most_ns = _nanoseconds(low), _nanoseconds(high)
    except ValueError:
        least_ns = most_ns = 0
    if not dots or not 0 < least_ns < most_ns:
        raise InvalidValue(f"{text!r} is no range of gaps", "write it like 20us..1s")
    if most_ns > LONGEST_PAUSE_S * 1e9:
        raise InvalidValue(
            f"{text!r} has gaps too long to measure", f"use at most {LONGEST_PAUSE_S:g}s"
        )
    steps = (step * 10**power for power in range(12) for step in _STEPS)
    between = (gap_ns for gap_ns in steps if least_ns < gap_ns < most_ns)
    return [str(Scenario("paced", ns / 1e3)) for ns in (least_ns, *between, most_ns)]


def _nanoseconds(word: str) -> int:
    return round(Scenario.parse(f"paced:{word.strip()}").gap_us * 1e3)
