"""Which columns a table for people has: those with values by default, or what `--columns` names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from app.cases.chosen_columns import chosen_names, column
from app.cases.column import GROUPS, Group, Row
from app.cases.columns import NAMES
from app.cases.errors import PlanError, suggestion
from app.cases.renamed_columns import current_name

ALL = "all"
MOST = 40
"""Columns of the group `other` fill a table up to this number; all other groups are whole."""
_FIRST = ("model", "runtime")
"""What a reader looks for first; `case_id` and `host` are declared before them."""


def parse_columns(text: str, percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The words of `--columns`: `all`, groups and names of columns; PlanError for any other.

    `percentiles` are the plan's, which may add columns.
    """
    words = tuple(current_name(word.strip()) for word in text.split(","))
    names = (*NAMES, *chosen_names(percentiles))
    for word in words:
        if word not in (ALL, *GROUPS, *names):
            hint = suggestion(word, (ALL, *GROUPS, *names)) if word else f"use one of {_GROUP_LIST}"
            raise PlanError(f"--columns: there is no column or group {word!r}", hint)
    return words


def columns_with_values(rows: Iterable[Row]) -> set[str]:
    """The names of the columns in which some row has a value."""
    found: set[str] = set()
    for row in rows:
        found.update(name for name, value in row.items() if value is not None and value != "")
    return found


def columns_for_people(
    words: Sequence[str], names: Sequence[str], with_values: Collection[str]
) -> tuple[str, ...]:
    """Of the columns `names` of a run those that its table for people has, in their order.

    A group stands for its columns with values, a name for itself.
    """
    ordered = _by_group(names)
    if words:
        return tuple(dict.fromkeys(_expanded(words, ordered, with_values)))
    important = {name for name in ordered if name in with_values and group_of(name) != "other"}
    others = [name for name in ordered if name in with_values and group_of(name) == "other"]
    kept = {*important, *others[: max(0, MOST - len(important))]}
    return tuple(name for name in ordered if name in kept)


def group_of(name: str) -> Group:
    """The group of a column of any run."""
    known = column(name)
    return (known.group if known else None) or "other"


_GROUP_LIST = ", ".join((ALL, *GROUPS))


def _by_group(names: Sequence[str]) -> list[str]:
    groups = {group: place for place, group in enumerate(GROUPS)}
    first = {name: place for place, name in enumerate(_FIRST)}
    return sorted(names, key=lambda name: (groups[group_of(name)], first.get(name, len(first))))


def _expanded(
    words: Sequence[str], ordered: Sequence[str], with_values: Collection[str]
) -> Iterator[str]:
    for word in words:
        if word == ALL:
            yield from ordered
        elif word in GROUPS:
            yield from (n for n in ordered if n in with_values and group_of(n) == word)
        else:
            yield word
