"""Names of columns that users may give: chosen percentiles, the list of `--columns`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.cases.column import GROUPS, Column, Group
from app.cases.columns import BY_NAME, MAIN, NAMES
from app.cases.errors import PlanError, suggestion
from app.cases.units import (
    DEFAULT,
    name_of,
    percentile_label,
    percentile_of,
    percentile_text,
    with_default_percentiles,
)

PATTERN: tuple[str, ...] = (
    "latency_{}_us",
    "latency_{}_ci_low_us",
    "latency_{}_ci_high_us",
    "pooled_{}_us",
)
_MODEL = "p99"


def percentile_columns(percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The columns of those percentiles that have none in every row."""
    names = [
        name_of(percentile) for percentile in with_default_percentiles(percentiles)[len(DEFAULT) :]
    ]
    return tuple(pattern.format(name) for name in names for pattern in PATTERN)


def column(name: str) -> Column | None:
    """The column of this name, of every row or of a chosen percentile, else None."""
    if name in BY_NAME:
        return BY_NAME[name]
    for pattern in PATTERN:
        prefix, suffix = pattern.split("{}")
        percentile = name.removeprefix(prefix).removesuffix(suffix)
        if pattern.format(percentile) == name and percentile_of(percentile) is not None:
            return _like(BY_NAME[pattern.format(_MODEL)], name, percentile)
    return None


def all_names(rows: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The columns of every row, then whatever else these rows have."""
    extra = dict.fromkeys(name for row in rows for name in row if name not in BY_NAME)
    return (*NAMES, *extra)


def _like(model: Column, name: str, percentile: str) -> Column:
    people = percentile_label(percentile)
    number = percentile_text(percentile_of(percentile) or 0.0)
    return replace(
        model,
        name=name,
        title=model.title.replace(_MODEL, people),
        meaning=model.meaning.replace("99 of 100", f"{number} of 100").replace(_MODEL, people),
    )


ALL = "all"


def parse_columns(text: str, percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The words of `--columns`: `all`, groups and names of columns; PlanError for any other.

    `percentiles` are the plan's, which may add columns.
    """
    words = tuple(word.strip() for word in text.split(","))
    names = (*NAMES, *percentile_columns(percentiles))
    for word in words:
        if word not in (ALL, *GROUPS, *names):
            hint = suggestion(word, (ALL, *GROUPS, *names)) if word else f"use one of {_GROUP_LIST}"
            raise PlanError(f"--columns: there is no column or group {word!r}", hint)
    return words


def main_columns(words: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The columns of `results.csv` of a run that has the columns `names`.

    Without `words` of `--columns` they are the same for every run, whatever has a value.
    """
    columns = (name for word in words for name in _expand(word, names))
    return tuple(dict.fromkeys(columns)) if words else MAIN


def group_of(name: str) -> Group:
    """The group of a column of any run."""
    definition = column(name)
    return (definition.group if definition else None) or "other"


_GROUP_LIST = ", ".join((ALL, *GROUPS))


def _expand(word: str, names: Sequence[str]) -> Sequence[str]:
    if word == ALL:
        return names
    return [name for name in names if group_of(name) == word] if word in GROUPS else (word,)
