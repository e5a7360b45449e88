"""What result views read from a series' row: numbers, and what sets it apart from the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from app.results.series import Series

_ASKED = ("precision", "threads", "scenario", "gap_us")
_OWN = ("sequence_length", "options")
"""Columns that make two rows of one model, runtime and batch different cases; the second ones
are a model's or a runtime's own, so that they set only its own rows apart."""


def number(series: Series, column: str) -> float | None:
    """The column's value, None where it is empty or no number."""
    value = series.row.get(column)
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def batch(series: Series) -> int | None:
    """The batch size, None for a model without one."""
    found = number(series, "batch_size")
    return None if found is None else int(found)


def ranked(series: Sequence[Series]) -> list[Series]:
    """Those whose figures may be compared: partial and wrong rows are shown, never ranked."""
    return [one for one in series if one.status == "ok" and _is_valid(one)]


def _is_valid(series: Series) -> bool:
    return str(series.row.get("valid", True)).lower() not in ("false", "0")


def variants(series: Sequence[Series]) -> dict[str, str]:
    """By key, the runtime and whatever else differs among these series."""
    asked = [name for name in _ASKED if len({_word(one, name) for one in series} - {""}) > 1]
    own: dict[tuple[str, str, str], list[str]] = {}
    for one in series:
        for name in _OWN:
            own.setdefault((one.model, one.runtime, name), []).append(_word(one, name))
    return {
        one.key: " ".join(
            [
                one.runtime,
                *filter(None, (_word(one, name) for name in asked)),
                *(
                    word
                    for name in _OWN
                    for word in _apart(_word(one, name), own[one.model, one.runtime, name])
                ),
            ]
        )
        for one in series
    }


def _apart(words: str, among: Sequence[str]) -> list[str]:
    """Those of the words that not all of the others have."""
    return [word for word in words.split() if not all(word in other.split() for other in among)]


def _word(series: Series, column: str) -> str:
    value = series.row.get(column)
    if value is None or value == "" or (isinstance(value, Mapping) and not value):
        return ""
    words = {
        "threads": f"{value} threads",
        "sequence_length": f"T={value}",
        "gap_us": f"gap {value} µs",
    }
    return words.get(column, str(value))


def batches(series: Sequence[Series]) -> dict[str, str]:
    """The batch sizes among these, as keys and texts of a drop-down, smallest first."""
    sizes = sorted({size for one in series if (size := batch(one)) is not None})
    return {str(size): f"Batch {size}" for size in sizes}


def of_batch(series: Sequence[Series], size: str) -> list[Series]:
    """Those with this batch size; all if there is none to choose."""
    return [one for one in series if not size or str(batch(one)) == size]
