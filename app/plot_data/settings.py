"""Settings in which cases differ, and any figure over a setting that is a number.

Each setting is one way to sort the cases into groups, lines of a plot, or rows and columns of a
matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.cases.case import Case
from app.cases.columns import BY_NAME, COLUMNS
from app.cases.dimensions import DIMENSIONS, EMPTY_IS_VALUE, SETTINGS, UNLABELLED
from app.plot_data.series import Series, number

_SIZES_WITH_COLUMNS = ("batch", "sequence")
Of = Literal["column", "option", "axis"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A column of the row, an option of the case, or a size of its model, by its `name`.

    `numeric`: all of its values here are numbers.
    """

    of: Of
    name: str
    numeric: bool

    @property
    def key(self) -> str:
        """The same for the same setting of any run: a column's name, `option:…` or `axis:…`."""
        return self.name if self.of == "column" else f"{self.of}:{self.name}"

    @property
    def title(self) -> str:
        return BY_NAME[self.name].title if self.of == "column" else self.name

    def value(self, series: Series) -> str | None:
        """As the case has it; an option that it leaves to its runtime as the rounds told it."""
        if self.of == "column":
            found = _column(series, self.name)
            return ("none" if self.name in EMPTY_IS_VALUE else None) if found == "" else found
        own = series.case.options if self.of == "option" else series.case.axes
        if self.name in own:
            return str(own[self.name])
        pairs = (pair.partition("=") for pair in str(series.row.get("options") or "").split())
        told = (value for name, _, value in pairs if self.of == "option" and name == self.name)
        return next(told, None)


def settings(series: Sequence[Series]) -> list[Setting]:
    """All by which these differ, the usual ones first."""
    names = SETTINGS
    columns = [_setting(series, "column", name) for name in names if _differs(series, name)]
    return [*columns, *_own(series, "option"), *_own(series, "axis")]


def _differs(series: Sequence[Series], name: str) -> bool:
    """Whether a column tells these apart; a size or a gap that some lack sets none apart, a
    condition or a batcher does."""
    values = {_column(one, name) for one in series}
    return len(values if name in EMPTY_IS_VALUE else values - {""}) > 1


def same_settings(one: Series, other: Series) -> bool:
    """Whether nothing that a setting is read from has moved."""
    names = (*SETTINGS, "options")
    return (
        one.case == other.case
        and one.batch_axis == other.batch_axis
        and all(one.row.get(name) == other.row.get(name) for name in names)
    )


def in_order(setting: Setting, values: Sequence[str]) -> list[str]:
    """Each once: numbers by their size, words as they first came."""
    distinct = list(dict.fromkeys(values))
    return sorted(distinct, key=float) if setting.numeric else distinct


def _column(series: Series, name: str) -> str:
    own = {"model": series.model, "runtime": series.runtime}.get(name)
    found = series.row.get(name) if own is None else own
    if found in (None, ""):
        case = series.case
        found = case.precision if name == "precision" else _of_case(case).get(name)
    return "" if found is None else str(found)


def _of_case(case: Case) -> dict[str, object]:
    """What its row will have of the axes, before there is one."""
    return {name: value for dimension in DIMENSIONS for name, value in dimension.row(case).items()}


def _setting(series: Sequence[Series], of: Of, name: str) -> Setting:
    values = [value for one in series if (value := Setting(of, name, False).value(one))]
    return Setting(of, name, all(map(_is_number, values)))


def _own(series: Sequence[Series], of: Of) -> Iterator[Setting]:
    """One for each option by which cases of one runtime differ, or for each size that differs.

    Options belong to a runtime, so the same word of another's sets nothing apart.
    """
    for name in dict.fromkeys(name for one in series for name in _names(one, of)):
        setting = _setting(series, of, name)
        groups: dict[str, set[str | None]] = {}
        for one in series:
            group = one.runtime if of == "option" else ""
            groups.setdefault(group, set()).add(setting.value(one))
        values = {value for found in groups.values() for value in found if value is not None}
        if max(map(len, groups.values() if of == "option" else [values])) > 1:
            yield setting


def _names(series: Series, of: Of) -> Sequence[str]:
    if of == "option":
        return list(series.case.options)
    own = (*_SIZES_WITH_COLUMNS, series.batch_axis)
    return [name for name in series.case.axes if name not in own]


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


_FIRST = ("latency_p50_us", "latency_p99_us", "latency_mean_us", "throughput_per_s")
_OF_SCENARIO = ("gap_us", "offered_rate_hz", "burst_size", "burst_period_us")
_UNIT = " (µs)"
"""An axis of times prints its own units."""


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
        elif one.key in UNLABELLED:
            words.append(value)
        else:
            words.append(f"{one.title.lower()} {value}")
    return " ".join(words)
