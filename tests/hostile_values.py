"""Values of JSON in the place of others: what a damaged or hostile file may hold anywhere."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

_DEEP = 400
"""Deeper than any value of ours, and what a parser of JSON still takes."""


def _nest(levels: int) -> Any:
    value: Any = {}
    for number in range(levels):
        value = {"a": value} if number % 2 else [value]
    return value


VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
    10**400,
    0.0,
    -0.0,
    -1.5,
    5e-324,
    1e308,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    "\0",
    "a\0b",
    "..",
    "../../x",
    "/etc/passwd",
    "\ud800",
    "\x1b[2J",
    "=1+1",
    "x" * 300,
    "x" * 200_000,
    "nan",
    "ok",
    [],
    {},
    [[]],
    {"": {}},
    [None, 1, "a"],
    _nest(_DEEP),
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def changed_anywhere(value: Any, draw: random.Random, times: int = 1) -> Any:
    """A copy with another value, no value or another key in so many places."""
    copy_of_value = copy.deepcopy(value)
    for _ in range(times):
        places = list(_places(copy_of_value))
        if not places:
            return draw.choice(VALUES)
        container, key = draw.choice(places)
        kind = draw.random()
        if kind < 0.1:
            del container[key]
        elif kind < 0.2 and isinstance(container, dict):
            container[draw.choice([name for name in VALUES if isinstance(name, str)])] = (
                container.pop(key)
            )
        else:
            container[key] = draw.choice(VALUES)
    return copy_of_value
