"""Names of columns that users may give: chosen percentiles, former names, the list of `--columns`.

Results up to schema 3 have the former names; everything written since has today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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

RENAMED: dict[str, str] = {
    "precision_asked": "precision_requested",
    "given": "user_files",
    "inputs_fed": "input_sets",
    "rate_hz": "offered_rate_hz",
    "at_once": "burst_size",
    "period_us": "burst_period_us",
    "profile": "preset",
    "settled": "steady_state",
    "gap_had_p50_us": "achieved_gap_p50_us",
    "gap_had_p99_us": "achieved_gap_p99_us",
    "polluted_mb": "evicted_mb",
    "pollution_ms": "eviction_ms",
    "neighbour_per_s": "colocated_runs_per_s",
    "neighbour_at_work": "colocated_busy_fraction",
    "kept_share": "sampled_fraction",
    "sustained_compared": "sustained_window",
    "first_p50_us": "sustained_first_p50_us",
    "last_p50_us": "sustained_last_p50_us",
    "last_to_first_p50": "sustained_p50_ratio",
    "first_p99_us": "sustained_first_p99_us",
    "last_p99_us": "sustained_last_p99_us",
    "last_to_first_p99": "sustained_p99_ratio",
    "slower_after_s": "sustained_slowdown_after_s",
    "first_clock_mhz": "sustained_first_clock_mhz",
    "last_clock_mhz": "sustained_last_clock_mhz",
    "first_temperature_c": "sustained_first_temperature_c",
    "last_temperature_c": "sustained_last_temperature_c",
    "first_seen_runs": "first_runs",
    "first_seen_p50_us": "first_run_p50_us",
    "first_seen_p99_us": "first_run_p99_us",
    "first_to_seen_p50": "first_run_slowdown",
    "attempt": "attempts",
    "max_over_p50": "max_to_p50_ratio",
    "ci_marks": "ci_flags",
    "ci_absent": "ci_missing_reason",
    "rounds_needed_p50": "required_rounds_p50",
    "rounds_needed_p99": "required_rounds_p99",
    "smallest_change_p50": "detectable_slowdown_p50",
    "smallest_change_p99": "detectable_slowdown_p99",
    "p50_slowest_round_us": "slowest_round_p50_us",
    "p99_slowest_round_us": "slowest_round_p99_us",
    "unseen_mode_share": "unseen_mode_fraction",
    "upper_bound_absent": "upper_bound_missing_reason",
    "mlperf_absent": "mlperf_missing_reason",
    "start_lateness_p50_us": "schedule_slip_p50_us",
    "start_lateness_p99_us": "schedule_slip_p99_us",
    "harness_floor_ns": "harness_overhead_ns",
    "mode_high_share": "mode_high_fraction",
    "stall_share": "stall_fraction",
    "late_runs": "deadline_misses",
    "late_share": "deadline_miss_rate",
    "late_share_ci_low": "deadline_miss_rate_ci_low",
    "late_share_ci_high": "deadline_miss_rate_ci_high",
    "late_absent": "deadline_ci_missing_reason",
    "batch_mean": "batch_size_mean",
    "batch_filled": "batch_fill_fraction",
    "served_hz": "achieved_rate_hz",
    "left_waiting": "backlog_at_end",
    "start_requests": "ramp_up_requests",
    "start_s": "ramp_up_s",
    "baseline": "baseline_case_id",
    "baseline_why": "baseline_verdict_reason",
    "null": "overhead_case_id",
    "null_p50_us": "overhead_p50_us",
    "null_p99_us": "overhead_p99_us",
    "compute_absent": "compute_missing_reason",
    "scaling_base": "scaling_baseline_case_id",
    "scaling_absent": "scaling_missing_reason",
    "cold_absent": "cold_missing_reason",
    "device_memory_peak_mb": "device_memory_peak_mib",
    "rss_peak_mb": "rss_peak_mib",
    "throttle": "throttle_reasons",
    "gpu_others": "gpu_other_processes",
    "device_memory_by": "device_memory_source",
    "steal_share": "steal_fraction",
    "cpu_mhz_min": "cpu_clock_min_mhz",
    "cpu_mhz_max": "cpu_clock_max_mhz",
    "temperature_c": "cpu_temperature_c",
    "outliers_by": "outlier_causes",
    "checked_as": "check_level",
    "engine_size_mb": "engine_size_mib",
    "stopped_at": "refused_node",
    "ops_elsewhere": "fallback_ops",
    "agrees_with": "agreeing_references",
    "cosine": "cosine_similarity",
}
"""Former name -> name, in the order of the columns."""


def current_name(name: str) -> str:
    """Today's name of a column; any other text is unchanged."""
    return RENAMED.get(name, name)


def with_current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values under today's names of columns."""
    return {current_name(name): value for name, value in values.items()}


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
    """The column of this name or former name, of every row or of a chosen percentile, else None."""
    name = current_name(name)
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
    words = tuple(current_name(word.strip()) for word in text.split(","))
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
