"""The columns of `results.csv` in their order: units in the names, empty = not measured."""

from __future__ import annotations

Value = str | int | float | bool | None
Row = dict[str, Value]

_NAMES = """
schema_version graphlap_version run_id case_id host started_at_utc
suite model family layers width parameters parameters_with_buffers macs model_sha256 opset
runtime runtime_version execution_provider device device_name precision_asked precision
batch_size sequence_length axes given threads options concurrency
scenario gap_us rate_hz wait_policy clock call_path boundary rounds seed fidelity
warmup_iterations warmup_s steady_state stop_reason iterations duration_s
latency_mean_us latency_std_us latency_min_us latency_p50_us latency_p90_us latency_p95_us
latency_p99_us latency_p999_us latency_max_us
latency_p50_ci_low_us latency_p50_ci_high_us latency_p90_ci_low_us latency_p90_ci_high_us
latency_p95_ci_low_us latency_p95_ci_high_us latency_p99_ci_low_us latency_p99_ci_high_us
response_p50_us response_p99_us start_lateness_p99_us
h2d_p50_us device_p50_us d2h_p50_us
throughput_per_s compile_ms first_inference_ms harness_floor_ns
device_memory_peak_mb rss_peak_mb energy_mj_per_inference power_w gpu_clock_mhz throttle
reference max_abs_error max_rel_error cosine output_ok accuracy_top1
cycles io_us weight_tiles_used weight_tiles_total
status valid reason warnings
"""
COLUMNS: tuple[str, ...] = tuple(_NAMES.split())
INTERVALS = ("p50", "p90", "p95", "p99")
"""The percentiles whose intervals have columns."""
