"""Rows that share the value of a setting: their group, and what stands in the group's own row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.cases.status import FAILED
from app.formatting.text import CLOCK_TEXT, latency
from app.plot_data.series import Series, number, ranked
from app.plot_data.settings import Setting, in_order

_WITHOUT = "none"
_FIGURES = {"p50": "latency_p50_us", "p99": "latency_p99_us"}


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` are the places of its cases among all, `told` says of them what there is to say."""

    value: str
    rows: tuple[int, ...]
    told: str


def groups(setting: Setting, series: Sequence[Series], rows: Sequence[int]) -> list[Group]:
    """Of these rows, in the setting's own order; within a group they keep theirs."""
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(setting.value(series[row]) or "", []).append(row)
    ordered = in_order(setting, [value for value in found if value])
    ordered += [""] if "" in found else []
    return [
        Group(
            value, tuple(found[value]), _told(setting, value, [series[row] for row in found[value]])
        )
        for value in ordered
    ]


def _told(setting: Setting, value: str, cases: Sequence[Series]) -> str:
    """`threads 2: 14 cases, 1 failed; best p50 9.50 µs (wall clock, fp32); best p99 …`."""
    failed = sum(one.status in FAILED for one in cases)
    count = f"{len(cases):,} case{'s' * (len(cases) != 1)}" + (
        f", {failed:,} failed" * bool(failed)
    )
    best = [
        f"best {name} " + ", ".join(f"{latency(us)} ({of})" for of, us in known.items())
        for name, column in _FIGURES.items()
        if (known := _best(cases, column))
    ]
    return "; ".join([f"{setting.title} {value or _WITHOUT}: {count}", *best])


def _best(cases: Sequence[Series], column: str) -> Mapping[str, float]:
    """The least of each clock and precision, which are no rivals of each other."""
    found: dict[str, float] = {}
    for one in ranked(cases):
        value = number(one, column)
        if value:
            precision = str(one.row.get("precision") or one.case.precision)
            of = f"{CLOCK_TEXT[one.clock]}, {precision}"
            found[of] = min(found.get(of, value), value)
    return found
