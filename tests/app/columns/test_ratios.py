"""Figures over figures, worked out by hand."""

from __future__ import annotations

from app.cases.column import Row
from app.columns.families import derived_columns

ROW: Row = {
    "latency_max_us": 90.0,
    "latency_p50_us": 30.0,
    "throughput_per_s": 500.0,
    "power_w": 250.0,
}


def test_the_slowest_over_the_median_and_inputs_over_kilowatts() -> None:
    assert derived_columns(ROW) == {"max_to_p50_ratio": 3.0, "throughput_per_s_per_kw": 2000.0}


def test_what_no_device_tells_is_empty() -> None:
    assert derived_columns({**ROW, "power_w": None})["throughput_per_s_per_kw"] is None
