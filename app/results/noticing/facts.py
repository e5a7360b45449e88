"""The rows whose figures may be compared, and which of them differ in one setting alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.results.alike import LIKE, Key
from app.results.measured import Measured
from exporters.twins import is_null

_BARE: Row = dict.fromkeys((*LIKE, "runtime", "options"))
"""A file of an earlier version has not every column."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A case that is well, its row, and its p50 with the interval, which takes three rounds."""

    case: Case
    row: Row
    p50_us: float
    interval_us: tuple[float, float] | None

    @property
    def case_id(self) -> str:
        return self.case.case_id

    @property
    def options(self) -> dict[str, str]:
        """All of the runtime's, as its rounds have told them."""
        pairs = (pair.partition("=") for pair in str(self.row.get("options") or "").split())
        return {name: value for name, _, value in pairs}

    def number(self, column: str) -> float | None:
        return number_of(self.row.get(column))


def facts(measured: Iterable[Measured]) -> list[Fact]:
    """Those of rows that are ok and valid; a null twin is nobody's model."""
    found = []
    for one in measured:
        row, p50 = {**_BARE, **one.row}, number_of(one.row.get("latency_p50_us"))
        well = row.get("status") == "ok" and row.get("valid") is not False
        if well and p50 and not is_null(one.case.model):
            ends = [number_of(row.get(f"latency_p50_ci_{end}_us")) for end in ("low", "high")]
            low, high = ends
            found.append(Fact(one.case, row, p50, (low, high) if low and high else None))
    return found


def alike_but(found: Sequence[Fact], column: str = "", option: str = "") -> list[list[Fact]]:
    """Groups of two and more that share all settings but this column's, or this option's."""
    groups: dict[tuple[Key, object], list[Fact]] = {}
    for one in found:
        shared = tuple(one.row.get(name) for name in LIKE if name != column)
        options = {name: value for name, value in one.options.items() if name != option}
        own = (one.case.runtime, tuple(sorted(options.items())))
        groups.setdefault((shared, own), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def surely_times(slower: Fact, faster: Fact) -> float:
    """How many times as long the slower one takes at least, by the ends of both intervals; 0 where
    one of them has none."""
    if slower.interval_us is None or faster.interval_us is None:
        return 0.0
    return slower.interval_us[0] / faster.interval_us[1]
