"""What rows must share to be compared, and how such a set of rows is called."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.column import Row, Value
from app.results.labels import model_labels, unusual_options

LIKE = (
    "model",
    "axes",
    "precision",
    "threads",
    "scenario",
    "gap_us",
    "offered_rate_hz",
    "burst_size",
    "burst_period_us",
    "wait_policy",
    "batcher",
    "condition",
    "concurrency",
    "user_files",
    "clock",
    "boundary",
    "host",
)
"""The model first; what is left are the runtime and its options."""
_TELLING = ("precision", "scenario", "condition", "clock")
"""Their values say of themselves what they are of."""
_OF_SCENARIO = {
    "gap_us": "gap {:g} µs",
    "offered_rate_hz": "{:g}/s",
    "burst_size": "{} at once",
    "burst_period_us": "every {:g} µs",
}

Key = tuple[Value, ...]


def contender(row: Row) -> str:
    """The runtime with those of its options that are not the defaults."""
    options = unusual_options(str(row["runtime"]), str(row["options"] or ""))
    return f"{row['runtime']} {options}".strip()


def names(keys: Sequence[Key], columns: Sequence[str] = LIKE) -> dict[Key, str]:
    """The model of each key, and what sets it apart from the others; keys are of `columns`."""
    models = model_labels(str(key[0]) for key in keys)
    differing = [place for place in range(1, len(columns)) if len({key[place] for key in keys}) > 1]
    return {
        key: " · ".join(
            [models[str(key[0])], *(_word(columns[p], key[p]) for p in differing if key[p])]
        )
        for key in keys
    }


def _word(name: str, value: Value) -> str:
    if name == "axes":
        return str(value).replace("=", " ")
    if name == "host":
        return f"on {value}"
    if name in _OF_SCENARIO:
        return _OF_SCENARIO[name].format(value)
    return str(value) if name in _TELLING else f"{name} {value}"
