"""Two runs case by case: the ratios of their percentiles, and where their environments differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.results.figures import number, ranked
from app.results.series import Series
from app.stats.quantiles import Interval
from app.stats.ratio import Figure, Ratio, ratio

PERCENTILES = ("p50", "p99")


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: its name, its cases, and the environment of its manifest."""

    name: str
    series: tuple[Series, ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """One case in both runs; a percentile that either run lacks is missing."""

    first: Series
    second: Series
    ratios: Mapping[str, Ratio]


def pairs(first: RunSide, second: RunSide) -> list[Pair]:
    """The cases that both runs finished, whichever schema named them; another clock is no pair."""
    others = {one.case.identity_id: one for one in ranked(second.series)}
    found = []
    for one in ranked(first.series):
        other = others.get(one.case.identity_id)
        if other is None or other.clock != one.clock:
            continue
        ratios = {}
        for name in PERCENTILES:
            a, b = percentile_figure(one, name), percentile_figure(other, name)
            if a is not None and b is not None:
                ratios[name] = ratio(a, b)
        if ratios:
            found.append(Pair(one, other, ratios))
    return found


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, first value, second value) of what the environments do not share."""
    a, b = _flat(first), _flat(second)
    return [
        (name, a.get(name, "not known"), b.get(name, "not known"))
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value not in (None, ""):
            flat[prefix + name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return flat


def percentile_figure(series: Series, name: str) -> Figure | None:
    """`name` is p50 or p99; from the summary, else from the row; None if neither knows it."""
    if series.summary is not None:
        value = series.summary.value_us(name)
        return None if value is None else Figure(value, series.summary.interval_us(name))
    value = number(series, f"latency_{name}_us")
    if value is None:
        return None
    low = number(series, f"latency_{name}_ci_low_us")
    high = number(series, f"latency_{name}_ci_high_us")
    return Figure(value, None if low is None or high is None else Interval(low, high))
