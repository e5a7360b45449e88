"""Words of a command line as values: numbers, shares, sizes, pairs, lists; PlanError for others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from app.cases.axes import whole
from app.cases.digits import scaled
from app.cases.errors import PlanError, suggestion
from exporters.invalid_value import InvalidValue
from exporters.size import parse_size

T = TypeVar("T")


def share_of(text: str, flag: str) -> float:
    """0.02 of `2%` or of `0.02`; PlanError if it is no share between 0 and 1."""
    word = text.strip()
    try:
        share = scaled(word.removesuffix("%"), 0.01) if word.endswith("%") else float(word)
    except (ValueError, ArithmeticError):
        share = -1.0
    if not 0.0 <= share < 1.0:
        raise PlanError(f"{flag} {text!r} is no share", "write it as 2% or as 0.02", flag)
    return share


def size_of(text: str, flag: str) -> int:
    """Bytes of a size like 8GiB; PlanError if it is none."""
    try:
        return parse_size(text)
    except InvalidValue as error:
        raise PlanError(f"{flag} {text!r} {error.cause}", error.remedy, flag) from None


def environment_pair(text: str) -> tuple[str, str]:
    """A name and its interpreter; PlanError for what is no such pair."""
    return pair_of(text, "--environment", "name=python")


def range_of(text: str, name: str) -> tuple[float, float]:
    """Both ends of `0:1`, for the input `name`; PlanError if it is no range."""
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not all(map(math.isfinite, ends)):
        raise PlanError(
            f"--input-range {name}={text} is no range",
            f"write it as {name}=0:1, with two finite numbers",
        )
    return ends


def words_of(text: str | None, flag: str) -> list[str]:
    """The parts between commas, none of a flag that is not given; PlanError for an empty one."""
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise PlanError(f"{flag} {text!r} has an empty part", "separate values by one comma", flag)
    return words


def numbers_of(text: str, flag: str, least: int) -> list[int]:
    """Whole numbers between commas; PlanError for any that is none or is below `least`."""
    return [number_of(word, flag, least) for word in words_of(text, flag)]


def number_of(text: str, flag: str, least: int) -> int:
    """The same of one."""
    return parsed(partial(whole, least=least), text, flag)


def amount_of(word: str) -> float:
    """A number from 0 on; ValueError, for `parsed`, if it is none."""
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise InvalidValue(f"{word} is no number of at least 0", "give one, such as 1e-3")
    return number


def percentile_of(word: str) -> float:
    """99.9 of `p99.9` or of `99.9`; ValueError, for `parsed`, if it is no number."""
    try:
        return float(word.removeprefix("p"))
    except ValueError:
        raise InvalidValue(f"{word} is no percentile", "give numbers, such as 50,99.9") from None


def parsed(parse: Callable[[str], T], word: str, flag: str) -> T:
    """What a word of a flag means; PlanError if it means nothing."""
    try:
        return parse(word)
    except InvalidValue as error:
        raise PlanError(f"{flag} {error.cause}", error.remedy, flag) from None


def one_of(word: str, known: Sequence[str], flag: str) -> str:
    """The word itself; PlanError, with the nearest one, if it is not among the known."""
    if word not in known:
        raise PlanError(f"{flag} {word} is not known", suggestion(word, known), flag)
    return word


def pair_of(text: str, flag: str, form: str, *, name_has_equals: bool = False) -> tuple[str, str]:
    """What stands on both sides of the first `=`, or of the last one where it is the name that may
    contain some; PlanError, with how it is written, if either lacks."""
    name, equals, values = text.rpartition("=") if name_has_equals else text.partition("=")
    if not (name and equals and values):
        raise PlanError(f"{flag} {text!r} can't be understood", f"write it as {flag} {form}", flag)
    return name, values
