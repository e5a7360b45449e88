"""Former names of columns: tables, run folders and commands with these names are still read.

Results up to schema 3 have the former names; everything written since has today's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
