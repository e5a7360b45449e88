"""The columns of `results.csv` by name: those of every run, and of percentiles that users choose.

Units are in the names, empty means not measured. A new column is a line of its family, which has
the function; the table in the window, the console, the reader of CSV files and the page that
documents them follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.analysis.columns.families import COMPARING, FAMILIES
from app.analysis.columns.family import like
from app.cases.column import GROUPS, Column, Group
from app.cases.errors import PlanError, suggestion
from app.cases.units import DEFAULT, name_of, percentile_of, with_default_percentiles

COLUMNS: tuple[Column, ...] = tuple(c for f in (*FAMILIES, *COMPARING) for c in f.columns)
BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}
NAMES: tuple[str, ...] = tuple(BY_NAME)
MAIN: tuple[str, ...] = (
    *("model", "runtime", "case_id", "host", "device_name", "runtime_version", "precision"),
    *("batch_size", "sequence_length", "axes", "threads", "options", "concurrency", "scenario"),
    *("gap_us", "offered_rate_hz", "condition", "clock", "deadline_us", "status", "valid"),
    *("output_ok", "latency_min_us", "latency_mean_us", "latency_p50_us", "latency_p90_us"),
    *("latency_p99_us", "latency_p999_us", "latency_max_us", "latency_p50_ci_low_us"),
    *("latency_p50_ci_high_us", "latency_p99_ci_low_us", "latency_p99_ci_high_us"),
    *("deadline_miss_rate", "throughput_per_s", "throughput_ci_low_per_s"),
    *("throughput_ci_high_per_s", "achieved_rate_hz", "rounds", "iterations"),
    *("detectable_slowdown_p50", "compile_ms", "cold_total_p50_ms", "rss_peak_mib"),
    *("device_memory_peak_mib", "energy_mj_per_inference", "baseline_p50_ratio"),
    *("baseline_p50_ci_low", "baseline_p50_ci_high", "baseline_p50_verdict", "reference"),
    *("max_rel_error", "fidelity", "reason", "warnings", "warning_codes"),
)
"""The header of `results.csv`, the same for all runs; a cell is empty where there is no value."""


PATTERN: tuple[str, ...] = (
    "latency_{}_us",
    "latency_{}_ci_low_us",
    "latency_{}_ci_high_us",
    "pooled_{}_us",
)


def percentile_columns(percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The columns of those percentiles that have none in every row."""
    names = [name_of(p) for p in with_default_percentiles(percentiles)[len(DEFAULT) :]]
    return tuple(pattern.format(name) for name in names for pattern in PATTERN)


def column(name: str) -> Column | None:
    """The column of this name, of every row or of a chosen percentile, else None."""
    if name in BY_NAME:
        return BY_NAME[name]
    for pattern in PATTERN:
        prefix, suffix = pattern.split("{}")
        percentile = name.removeprefix(prefix).removesuffix(suffix)
        if pattern.format(percentile) == name and percentile_of(percentile) is not None:
            return like(BY_NAME[pattern.format("p99")], percentile)
    return None


def all_names(rows: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The columns of every row, then whatever else these rows have."""
    extra = dict.fromkeys(name for row in rows for name in row if name not in BY_NAME)
    return (*NAMES, *extra)


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
    return definition.group if definition else "other"


_GROUP_LIST = ", ".join((ALL, *GROUPS))


def _expand(word: str, names: Sequence[str]) -> Sequence[str]:
    if word == ALL:
        return names
    return [name for name in names if group_of(name) == word] if word in GROUPS else (word,)
