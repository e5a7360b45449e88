"""Any figure of the rows against any setting that is a number: a line for whatever else differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.cases.columns import BY_NAME, COLUMNS
from app.results.figures import number
from app.results.series import Series
from app.results.settings import Setting, settings

_FIRST = ("latency_p50_us", "latency_p99_us", "latency_mean_us", "throughput_per_s")
_OF_SCENARIO = ("gap_us", "offered_rate_hz", "burst_size", "burst_period_us")
_UNIT = " (µs)"
"""An axis of times prints its own units."""
_SAY_THEMSELVES = ("precision", "scenario", "condition", "batcher", "wait_policy")
"""Settings whose values need no word before them."""


@dataclass(frozen=True, slots=True)
class Line:
    """Cases of one model by rising `x`; `name` tells the line from the others of all models."""

    model: str
    name: str
    points: tuple[tuple[float, Series], ...]


def numeric_settings(series: Sequence[Series]) -> dict[str, str]:
    """What can be the x axis: titles by key."""
    return {one.key: one.title for one in settings(series) if one.numeric}


def figures(series: Sequence[Series]) -> dict[str, str]:
    """What can be the y axis: the titles of columns in which these have numbers, which differ."""
    taken = {one.key for one in settings(series)}
    known = [BY_NAME[name] for name in _FIRST]
    known += [one for one in COLUMNS if one.kind in ("number", "count") and one not in known]
    return {
        one.name: one.title.removesuffix(_UNIT)
        for one in known
        if one.name not in taken and len({number(case, one.name) for case in series} - {None}) > 1
    }


def lines(series: Sequence[Series], x: str) -> list[Line]:
    """Of the setting with this key; a case that has it not is in none."""
    found = settings(series)
    along = next((one for one in found if one.key == x), None)
    if along is None:
        return []
    rest = [one for one in found if one.key not in (x, "model") and not _is_told_by(one, x)]
    groups: dict[tuple[str | None, ...], list[tuple[float, Series]]] = {}
    for case in series:
        value = along.value(case)
        if value is not None:
            others = (case.model, _arrivals(case, x), *(one.value(case) for one in rest))
            groups.setdefault(others, []).append((float(value), case))
    return [
        Line(cases[0][1].model, _name(cases[0][1], rest), tuple(sorted(cases, key=_place)))
        for cases in groups.values()
    ]


def _place(point: tuple[float, Series]) -> float:
    return point[0]


def _is_told_by(setting: Setting, x: str) -> bool:
    """A scenario's word has the gap or the rate in it."""
    return setting.key == "scenario" and x in _OF_SCENARIO


def _arrivals(case: Series, x: str) -> str:
    """Its kind stays when the scenario's word is left out."""
    return case.case.scenario.kind if x in _OF_SCENARIO else ""


def _name(case: Series, rest: Sequence[Setting]) -> str:
    words = [case.runtime]
    for one in rest:
        value = one.value(case)
        if value is None or one.key == "runtime":
            continue
        if one.of == "option":
            words.append(f"{one.name}={value}")
        elif one.key in _SAY_THEMSELVES:
            words.append(value)
        else:
            words.append(f"{one.title.lower()} {value}")
    return " ".join(words)
