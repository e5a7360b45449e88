"""The values of a runtime's option that a search tries: from its table and this machine's cores."""

from __future__ import annotations

import math
from collections.abc import Iterator

from runtimes.options import Option, OptionValue

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What the default of a number without an upper end is multiplied by."""
BEYOND = 2
"""Lanes and the like are tried up to so many times the cores."""


def tried(option: Option, cores: int) -> tuple[OptionValue, ...]:
    """The default first; it alone where the table does not say what else there is."""
    if not option.tuned:
        return (option.default,)
    if option.choices:
        found: Iterator[OptionValue] = iter(option.choices)
    elif isinstance(option.default, bool):
        found = iter((True, False))
    elif isinstance(option.default, str):
        found = iter(())
    else:
        found = _numbers(option, option.default, cores)
    return tuple(dict.fromkeys((option.default, *found)))


def threads_of(cores: int) -> tuple[int, ...]:
    """What the engine chooses by itself, then powers of two up to all cores."""
    return (0, *_doubled(1, cores))


def _numbers(option: Option, default: float, cores: int) -> Iterator[OptionValue]:
    """Powers of two between both ends, no more than the cores have a use for; without an upper
    end, parts and multiples of the default."""
    kind = type(option.default)
    if option.maximum is None:
        numbers = [factor * default for factor in FACTORS]
    else:
        low = max(1, math.ceil(option.minimum or 1))
        numbers = list(_doubled(low, min(option.maximum, max(low, BEYOND * cores))))
    for number in numbers:
        if option.minimum is None or number >= option.minimum:
            yield kind(number)


def _doubled(low: int, high: float) -> Iterator[int]:
    number = low
    while number < high:
        yield number
        number *= 2
    if low <= high:
        yield int(high)
