"""Columns that are one figure of a row over another."""

from __future__ import annotations

from app.cases.column import Row, number_of


def ratio_columns(known: Row) -> Row:
    """Of a row whose latencies, rates and powers are there; empty where one of two is not."""
    slowest, median, per_s, watts = (
        number_of(known[name])
        for name in ("latency_max_us", "latency_p50_us", "throughput_per_s", "power_w")
    )
    return {
        "max_to_p50_ratio": slowest / median if slowest and median else None,
        "throughput_per_s_per_kw": per_s / (watts / 1e3) if per_s and watts else None,
    }
