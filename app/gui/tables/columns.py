"""The columns of the results table: where each takes its value, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.cases.column import Column as ResultColumn
from app.cases.column_names import all_names
from app.cases.column_names import column as column_of
from app.cases.columns import BY_NAME, NAMES
from app.cases.dimensions import SETTINGS
from app.cases.latency_columns import PERCENTILES
from app.formatting.text import CLOCK_TEXT, significant, time_text
from app.plot_data.series import Series, number, quoted, ranked

Kind = Literal["text", "count", "lower", "higher"]
"""lower and higher: a figure of which less or more is better, compared with a baseline."""

_WIDTHS = {
    "model": 145,
    "runtime": 160,
    "precision": 84,
    "batch_size": 66,
    "status": 110,
    "clock": 96,
    "reason": 180,
    "warnings": 320,
}
_MICROSECONDS = "_us"
"""How the names of columns end whose figures are told each in the unit that suits it."""
_FROM_SUMMARY = {f"latency_{name}_us": name for name in PERCENTILES}


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
        if self.key.endswith(_MICROSECONDS):
            return time_text(value * 1e-6, 4)
        return f"{value:,.0f}" if abs(value) >= 10_000 else significant(value, 4)


def _standing(series: Series) -> str:
    """How the case ended, and that its measurement broke its own protocol, where it did."""
    broken = series.status == "ok" and not ranked([series])
    return "ok, not valid" if broken else series.status.replace("_", " ")


_IDENTITY: dict[str, Callable[[Series], str]] = {
    "model": lambda series: series.model,
    "runtime": lambda series: series.runtime,
    "clock": lambda series: str(series.row.get("clock") or series.clock),
    "status": _standing,
}


def _figure(series: Series, key: str) -> float | None:
    found = number(series, key)
    if found is None and key == "rounds" and series.timed:
        return float(len(series.timed))
    if key in _FROM_SUMMARY:
        latency = quoted(series, _FROM_SUMMARY[key])
        return None if latency is None else latency.value_us
    return found


def _column(told: ResultColumn) -> Column:
    kind: Kind = "text" if told.kind in ("text", "flag") else told.better or "count"
    width = _WIDTHS.get(told.name, 130 if told.better else 110)
    return Column(told.name, told.title.removesuffix(" (µs)"), told.meaning, kind, width)


DEFAULT: tuple[str, ...] = (
    "model",
    "runtime",
    "latency_p50_us",
    "latency_p99_us",
    "precision",
    "batch_size",
    "status",
    "clock",
    "latency_p999_us",
    "throughput_per_s",
    "reason",
)
"""What is shown until somebody chooses otherwise: the figures first, where they are always seen."""
ALWAYS = DEFAULT[:4]
"""What is shown although no row has it yet."""

_SETTINGS = DEFAULT.index("status")
_PLACED = tuple(dict.fromkeys((*DEFAULT[:_SETTINGS], *SETTINGS, *DEFAULT[_SETTINGS:])))

COLUMNS: tuple[Column, ...] = tuple(
    _column(BY_NAME[key]) for key in (*_PLACED, *(k for k in NAMES if k not in _PLACED))
)


def columns_of(series: Sequence[Series]) -> tuple[Column, ...]:
    """All columns, and after them those of percentiles that the plan of these cases chose."""
    row = next((one.row for one in series if "ci_method" in one.row), {})
    chosen = [column_of(name) for name in all_names([row])[len(NAMES) :]]
    return (*COLUMNS, *(_column(found) for found in chosen if found is not None))


def shown_unasked(key: str) -> bool:
    """Whether a column is shown until somebody chooses otherwise: of a percentile its figure."""
    if key in BY_NAME:
        return key in DEFAULT
    return key.startswith("latency_") and "_ci_" not in key
