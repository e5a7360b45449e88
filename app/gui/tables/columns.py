"""The columns of the results table: where each takes its value, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.cases.columns import COLUMNS as RESULT_COLUMNS
from app.gui.plots.text import CLOCK_TEXT, significant
from app.results.follow.figures import number
from app.results.follow.series import Series

Kind = Literal["text", "count", "lower", "higher"]
"""lower and higher: a figure of which less or more is better, compared with a baseline."""

_TEXT_NAMES = """
graphlap_version run_id case_id host started_at_utc suite model family model_sha256 runtime
runtime_version execution_provider device device_name precision_asked precision axes options
scenario wait_policy clock call_path boundary fidelity steady_state stop_reason reference
output_ok throttle status valid reason warnings
"""
_TEXTS = frozenset(_TEXT_NAMES.split())
_SHORT = {
    "model": "Model",
    "runtime": "Runtime",
    "precision": "Precision",
    "batch_size": "Batch",
    "threads": "Threads",
    "status": "Status",
    "clock": "Clock",
    "reason": "Reason",
    "iterations": "Samples",
    "latency_mean_us": "Mean (µs)",
    "latency_p50_us": "p50 (µs)",
    "latency_p90_us": "p90 (µs)",
    "latency_p99_us": "p99 (µs)",
    "latency_p999_us": "p99.9 (µs)",
    "throughput_per_s": "Inputs/s",
    "max_rel_error": "Error",
}
_HINTS = {
    "status": "How the case ended; only ok is compared with other rows.",
    "clock": "Wall clock, the device's own clock, or simulated: never compare them blindly.",
    "latency_p50_us": "The median: half of the samples were at most this slow.",
    "latency_p90_us": "90 of 100 samples were at most this slow.",
    "latency_p99_us": "99 of 100 samples were at most this slow. Empty below 368 samples.",
    "latency_p999_us": "999 of 1,000 samples were at most this slow. Empty below 3,688 samples.",
    "throughput_per_s": "Inputs per second.",
    "max_rel_error": "The largest difference from the reference output, over its largest value.",
    "reason": "Why the case failed or could not run.",
}
_WIDTHS = {
    "model": 145,
    "runtime": 130,
    "precision": 84,
    "batch_size": 66,
    "status": 110,
    "clock": 96,
    "reason": 180,
    "warnings": 320,
}
_FROM_SUMMARY = {
    "latency_p50_us": "p50",
    "latency_p90_us": "p90",
    "latency_p95_us": "p95",
    "latency_p99_us": "p99",
    "latency_p999_us": "p999",
}


@dataclass(frozen=True, slots=True)
class Column:
    """`key` is the name in results.csv; `title` and `hint` are the header's."""

    key: str
    title: str
    hint: str
    kind: Kind
    width: int

    def raw(self, series: Series) -> str | float | None:
        """The value as stored: text, or a number; None where there is none."""
        if self.kind != "text":
            return _figure(series, self.key)
        own = _IDENTITY.get(self.key)
        value = own(series) if own else series.row.get(self.key)
        return None if value is None or value == "" else str(value)

    def text(self, value: str | float | None) -> str:
        """The value as people read it."""
        if value is None:
            return ""
        if isinstance(value, str):
            return CLOCK_TEXT.get(value, value) if self.key == "clock" else value
        if value == int(value) and abs(value) < 1e15 and self.kind == "count":
            return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
        return f"{value:,.0f}" if abs(value) >= 10_000 else significant(value, 4)


_IDENTITY: dict[str, Callable[[Series], str]] = {
    "model": lambda series: series.model,
    "runtime": lambda series: series.runtime,
    "clock": lambda series: series.clock,
    "status": lambda series: series.status.replace("_", " "),
}


def _figure(series: Series, key: str) -> float | None:
    found = number(series, key)
    if found is None and series.summary is not None and key in _FROM_SUMMARY:
        return series.summary.quantiles.get(_FROM_SUMMARY[key])
    return found


def _column(key: str) -> Column:
    kind: Kind = "text" if key in _TEXTS else "count"
    if key.startswith(("latency_", "response_")) or key.endswith(("_ms", "_error")):
        kind = "lower"
    elif key == "throughput_per_s":
        kind = "higher"
    title = _SHORT.get(key, key.replace("_", " ").capitalize())
    width = _WIDTHS.get(key, 130 if kind in ("lower", "higher") else 110)
    return Column(key, title, _HINTS.get(key, f"Column {key} of results.csv."), kind, width)


DEFAULT: tuple[str, ...] = (
    "model",
    "runtime",
    "precision",
    "batch_size",
    "status",
    "clock",
    "latency_p50_us",
    "latency_p99_us",
    "latency_p999_us",
    "throughput_per_s",
    "reason",
)
"""What is shown until somebody chooses otherwise."""

COLUMNS: tuple[Column, ...] = tuple(
    _column(key) for key in (*DEFAULT, *(k for k in RESULT_COLUMNS if k not in DEFAULT))
)
