"""What axes and labels say, against what the numbers are."""

from __future__ import annotations

import math

import pytest
from PySide6.QtWidgets import QApplication

from app.formatting.text import count_tick, rate_text, significant, time_text
from app.gui.plots.axes import (
    BatchAxis,
    CountAxis,
    LogAxis,
    NinesAxis,
    PercentAxis,
    count_axis,
    time_axis,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.234, "1.23"),
        (99.96, "100"),
        (9.999, "10.0"),
        (1234.5, "1230"),
        (0.01, "0.0100"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.48e-6, "2.48 µs"),
        (163e-6, "163 µs"),
        (0.9999e-3, "1.00 ms"),
        (12e-9, "12.0 ns"),
        (1.5, "1.50 s"),
    ],
)
def test_durations_carry_the_unit_that_keeps_them_short(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_rates_and_counts() -> None:
    assert rate_text(1250.0) == "1.25k/s"
    assert rate_text(73.0) == "73.0/s"
    assert [count_tick(v) for v in (1.0, 200.0, 1e4, 1e6)] == ["1", "200", "10k", "1M"]


def _tick_labels(axis: LogAxis, low: float, high: float, size: float = 800.0) -> list[str]:
    """The labels that the axis prints between two values."""
    spacing, values = axis.tickValues(math.log10(low), math.log10(high), size)[0]
    return axis.tickStrings(values, 1.0, spacing)


def test_a_time_axis_prints_units_at_every_zoom(qapp: QApplication) -> None:
    axis = time_axis("bottom")
    assert _tick_labels(axis, 1e-7, 1e2, 400.0) == ["1 µs", "100 µs", "10 ms", "1 s", "100 s"]
    assert _tick_labels(axis, 9e-6, 2.1e-4) == ["10 µs", "20 µs", "50 µs", "100 µs", "200 µs"]
    assert _tick_labels(axis, 1.01e-5, 1.055e-5, 350.0) == [
        "10.1 µs",
        "10.2 µs",
        "10.3 µs",
        "10.4 µs",
        "10.5 µs",
    ]


def test_labels_never_crowd_an_axis(qapp: QApplication) -> None:
    for axis in (time_axis("bottom"), count_axis("bottom")):
        for decades in (0.01, 0.3, 1.0, 2.0, 5.0, 9.0):
            for size in (120.0, 400.0, 1200.0):
                labels = _tick_labels(axis, 1e-6, 1e-6 * 10**decades, size)
                assert len(labels) * 45.0 <= size + 90.0, (decades, size, labels)


def test_the_nines_axis_gives_each_nine_the_same_room(qapp: QApplication) -> None:
    spacing, values = NinesAxis("bottom").tickValues(0.0, 4.2, 800.0)[0]
    texts = NinesAxis("bottom").tickStrings(values, 1.0, spacing)
    assert texts == ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]
    assert values[2:] == [1.0, 2.0, 3.0, 4.0]


def test_a_batch_axis_tells_powers_of_two_and_a_percent_axis_ends_at_100(
    qapp: QApplication,
) -> None:
    axis = BatchAxis("bottom")
    spacing, values = axis.tickValues(0.0, math.log10(128.0), 400.0)[0]
    assert axis.tickStrings(values, 1.0, spacing) == ["1", "2", "4", "8", "16", "32", "64", "128"]
    narrow_ticks = axis.tickValues(math.log10(0.3), math.log10(3.0), 400.0)[0]
    assert axis.tickStrings(narrow_ticks[1], 1.0, narrow_ticks[0]) == ["1", "2"], (
        "half an input is no batch"
    )
    levels = PercentAxis("left").tickValues(0.0, 124.0, 400.0)
    assert max(v for _, values in levels for v in values) == 100.0


def test_rates_on_a_plain_axis_are_told_in_short() -> None:
    axis = CountAxis("bottom")
    assert axis.tickStrings([0.0, 500.0, 400_000.0, 2e6], 1.0, 1.0) == ["0", "500", "400k", "2M"]
