"""A column of `results.csv`: all that anybody asks of it, and how a row holds its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Value = str | int | float | bool | None
Row = dict[str, Value]


class Blank(dict[str, Value]):
    """A row of which little is known, such as a case that was not begun: what it lacks is None.

    A sweep may have a hundred thousand of them, and a row has a hundred and fifty columns.
    """

    def __missing__(self, name: str) -> Value:
        return None


Kind = Literal["text", "count", "number", "flag"]
Better = Literal["", "lower", "higher"]
Group = Literal["identity", "settings", "latency", "throughput", "confidence", "verdict", "other"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""In the order in which a table for people has them."""


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` is text, a whole number, a number or true/false; `title` is a table's heading.

    `better` says which of two figures one would rather have, empty where neither. `group` is its
    place in a table for people. What it means is looked up where somebody asks.
    """

    name: str
    kind: Kind
    unit: str
    better: Better
    group: Group
    title: str
    explain: Callable[[], str]

    @property
    def meaning(self) -> str:
        return self.explain()


def number_of(value: Value) -> float | None:
    """What a row holds as a number; None where it holds none."""
    return float(value) if isinstance(value, int | float) else None


def cell_of_pairs(values: Mapping[str, object]) -> str | None:
    """Sizes or options by name as one cell: `batch=4;sequence=64`."""
    return ";".join(f"{name}={values[name]}" for name in sorted(values)) or None


def pairs_in(cell: Value) -> dict[str, str]:
    """The values by name of such a cell."""
    pairs = (pair.partition("=") for pair in str(cell or "").split(";"))
    return {name: value for name, _, value in pairs if name}
