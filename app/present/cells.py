"""Cells of tables: a value with its unit, and the text that a reader sees."""

from __future__ import annotations

from app.formatting import text
from app.present.document import Cell


def latency_cell(latency_us: float | None) -> Cell:
    """`24.1 µs`; `-` where there is none."""
    return Cell(text.latency(latency_us), latency_us, unit="us")


def latency_interval_cell(low_us: float | None, high_us: float | None) -> Cell:
    """`24.05 to 24.31 µs`; a wide interval is not shown, and its ends are there."""
    return Cell(text.interval(low_us, high_us), unit="us", low=low_us, high=high_us)


def rate_cell(per_second: float | None) -> Cell:
    """`727/s`; `-` where there is none."""
    return Cell(text.rate_text(per_second), per_second, unit="per_s")


def share_cell(value: float | None, digits: int = 0) -> Cell:
    """`12%`, with so many digits after the point; empty where there is none."""
    return Cell("" if value is None else f"{value:.{digits}%}", value)


def amount_cell(number: float | None, unit: str = "") -> Cell:
    """`1.57 MB` of bytes, `98.3k` without a unit; empty where there is none."""
    long_unit = "bytes" if unit == "B" else unit
    return Cell("" if number is None else text.amount(number, unit), number, unit=long_unit)


def count_cell(number: int | None) -> Cell:
    """`11,908`; `-` where there is none."""
    return Cell(text.count(number), number)


def ratio_cell(value: float | None) -> Cell:
    """`1.43`; `-` where there is none."""
    return Cell(text.NOT_MEASURED if value is None else text.significant(value), value)
