"""The columns of a session that serves several shapes."""

from __future__ import annotations

from app.cases.column import count, less, number, text

SHAPES = (
    count(
        "shapes",
        "Shapes",
        "How many shapes the session serves; latencies are of all together.",
        group="settings",
    ),
    text(
        "shapes_sha256",
        "Shapes sha256",
        "Names which shapes came and in which order: the sha256 of the rounds' own, a line each.",
        group="other",
    ),
    count(
        "first_runs",
        "First runs",
        "First runs of a shape in a process, without the first run of the process.",
        group="other",
    ),
    less(
        "first_run_p50_us",
        "First run p50 (µs)",
        "us",
        "The median of these runs; empty if there are too few.",
    ),
    less(
        "first_run_p99_us",
        "First run p99 (µs)",
        "us",
        "The 99th percentile of these runs; empty if there are too few.",
    ),
    number(
        "first_run_slowdown",
        "First run slowdown",
        "",
        "A first run over the median of the later runs of its shape in that process: the "
        "median of these ratios.",
    ),
)
