"""The end of sustained rounds against their beginning, as a table with a line for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.column import Row, number_of
from app.present.document import Block, Column, Heading, names, table
from app.results import alike, text

_NAMES = ("case", "runtime", "")
_FIGURES = ("first", "last", "ratio", "slower after", "clock (MHz)")


def sustained_tables(rows: Sequence[Row]) -> Iterator[Block]:
    """One, where any case was sustained."""
    sustained = [row for row in rows if row["sustained_window"] is not None]
    if not sustained:
        return
    compared = dict.fromkeys(str(row["sustained_window"]) for row in sustained)
    keys = [tuple(row[name] for name in alike.LIKE) for row in sustained]
    called = alike.names(keys)
    cells: list[tuple[str, ...]] = []
    for key, row in zip(keys, sustained, strict=True):
        p50 = ("p50", *_of(row, "p50"), _after(row), _clocks(row))
        cells.append((called[key], alike.contender(row), *p50))
        cells.append(("", "", "p99", *_of(row, "p99"), "", ""))
    yield Heading(f"sustained: {' | '.join(compared)}", 3)
    yield table((*names(*_NAMES), *map(Column, _FIGURES)), cells)


def _of(row: Row, name: str) -> tuple[str, str, str]:
    first, last = (number_of(row[f"sustained_{place}_{name}_us"]) for place in ("first", "last"))
    ratio = number_of(row[f"sustained_{name}_ratio"])
    return text.latency(first), text.latency(last), _ratio(ratio)


def _after(row: Row) -> str:
    after_s = number_of(row["sustained_slowdown_after_s"])
    return "stayed" if after_s is None else text.duration(after_s)


def _clocks(row: Row) -> str:
    clocks = (number_of(row[f"sustained_{place}_clock_mhz"]) for place in ("first", "last"))
    first, last = clocks
    return text.NOT_MEASURED if first is None or last is None else f"{first:.0f} to {last:.0f}"


def _ratio(value: float | None) -> str:
    return text.NOT_MEASURED if value is None else text.significant(value)
