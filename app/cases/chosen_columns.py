"""The columns of percentiles that a plan chose: of the pattern that p99's columns have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from app.cases.column import Column
from app.cases.columns import BY_NAME, NAMES
from app.cases.percentiles import DEFAULT, name_of, percentile_of, shown, told, written
from app.cases.renamed_columns import current_name

PATTERN: tuple[str, ...] = (
    "latency_{}_us",
    "latency_{}_ci_low_us",
    "latency_{}_ci_high_us",
    "pooled_{}_us",
)
_MODEL = "p99"


def chosen_names(percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The columns of those percentiles that have none in every row."""
    chosen = [name_of(percentile) for percentile in told(percentiles)[len(DEFAULT) :]]
    return tuple(pattern.format(name) for name in chosen for pattern in PATTERN)


def column(name: str) -> Column | None:
    """The column of this name or former name, of every row or of a chosen percentile, else None."""
    name = current_name(name)
    if name in BY_NAME:
        return BY_NAME[name]
    for pattern in PATTERN:
        before, after = pattern.split("{}")
        percentile = name.removeprefix(before).removesuffix(after)
        if pattern.format(percentile) == name and percentile_of(percentile) is not None:
            return _like(BY_NAME[pattern.format(_MODEL)], name, percentile)
    return None


def all_names(rows: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The columns of every row, then whatever else these rows have."""
    more = dict.fromkeys(name for row in rows for name in row if name not in BY_NAME)
    return (*NAMES, *more)


def _like(model: Column, name: str, percentile: str) -> Column:
    people = shown(percentile)
    number = written(percentile_of(percentile) or 0.0)
    return replace(
        model,
        name=name,
        title=model.title.replace(_MODEL, people),
        meaning=model.meaning.replace("99 of 100", f"{number} of 100").replace(_MODEL, people),
    )
