"""Settings in which cases differ, and any figure over a setting that is a number.

Each setting is one way to sort the cases into groups, lines of a plot, or rows and columns of a
matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.analysis.columns.table import BY_NAME, COLUMNS
from app.analysis.plot_data.series import Series, number
from app.cases.case import Case
from app.cases.column import pairs_in
from app.cases.dimensions import DIMENSIONS, EMPTY_IS_VALUE, SETTINGS, UNLABELLED

_SIZES_WITH_COLUMNS = ("batch", "sequence")
SettingKind = Literal["column", "option", "axis"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A column of the row, an option of the case, or a size of its model, by its `name`.

    `numeric`: all of its values here are numbers.
    """

    kind: SettingKind
    name: str
    numeric: bool

    @property
    def key(self) -> str:
        """The same for the same setting of any run: a column's name, `option:…` or `axis:…`."""
        return self.name if self.kind == "column" else f"{self.kind}:{self.name}"

    @property
    def title(self) -> str:
        return BY_NAME[self.name].title if self.kind == "column" else self.name

    def value(self, series: Series) -> str | None:
        """As the case has it; an option that it leaves to its runtime as the rounds told it."""
        if self.kind == "column":
            column_value = _column(series, self.name)
            empty = "none" if self.name in EMPTY_IS_VALUE else None
            return column_value or empty
        case_values = series.case.options if self.kind == "option" else series.case.axes
        if self.name in case_values:
            return str(case_values[self.name])
        recorded_values = pairs_in(series.row.get("options")) if self.kind == "option" else {}
        return recorded_values.get(self.name)


def settings(series: Sequence[Series]) -> list[Setting]:
    """All by which these differ, the usual ones first."""
    names = SETTINGS
    columns = [_setting(series, "column", name) for name in names if _differs(series, name)]
    return [*columns, *_case_settings(series, "option"), *_case_settings(series, "axis")]


def _differs(series: Sequence[Series], name: str) -> bool:
    """Whether a column tells these apart; a size or a gap that some lack sets none apart, a
    condition or a batcher does."""
    values = {_column(case_series, name) for case_series in series}
    return len(values if name in EMPTY_IS_VALUE else values - {""}) > 1


def same_settings(first: Series, second: Series) -> bool:
    """Whether nothing that a setting is read from has moved."""
    names = (*SETTINGS, "options")
    return (
        first.case == second.case
        and first.batch_axis == second.batch_axis
        and all(first.row.get(name) == second.row.get(name) for name in names)
    )


def in_order(setting: Setting, values: Sequence[str]) -> list[str]:
    """Each once: numbers by their size, words as they first came."""
    distinct = list(dict.fromkeys(values))
    return sorted(distinct, key=float) if setting.numeric else distinct


def _column(series: Series, name: str) -> str:
    label = {"model": series.model, "runtime": series.runtime}.get(name)
    value = series.row.get(name) if label is None else label
    if value in (None, ""):
        case = series.case
        value = case.precision if name == "precision" else _case_values(case).get(name)
    return "" if value is None else str(value)


def _case_values(case: Case) -> dict[str, object]:
    """What its row will have of the axes, before there is one."""
    return {name: value for dimension in DIMENSIONS for name, value in dimension.row(case).items()}


def _setting(series: Sequence[Series], kind: SettingKind, name: str) -> Setting:
    values = [value for c in series if (value := Setting(kind, name, False).value(c))]
    return Setting(kind, name, all(map(_is_number, values)))


def _case_settings(series: Sequence[Series], kind: SettingKind) -> Iterator[Setting]:
    """One for each option by which cases of one runtime differ, or for each size that differs.

    Options belong to a runtime, so the same word of another's sets nothing apart.
    """
    for name in dict.fromkeys(name for case_series in series for name in _names(case_series, kind)):
        setting = _setting(series, kind, name)
        groups: dict[str, set[str | None]] = {}
        for case_series in series:
            group = case_series.runtime if kind == "option" else ""
            groups.setdefault(group, set()).add(setting.value(case_series))
        values = set[str | None]().union(*groups.values()) - {None}
        if max(map(len, groups.values() if kind == "option" else [values])) > 1:
            yield setting


def _names(series: Series, kind: SettingKind) -> Sequence[str]:
    if kind == "option":
        return list(series.case.options)
    column_names = (*_SIZES_WITH_COLUMNS, series.batch_axis)
    return [name for name in series.case.axes if name not in column_names]


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


_FIRST = ("latency_p50_us", "latency_p99_us", "latency_mean_us", "throughput_per_s")
_SCENARIO_COLUMNS = ("gap_us", "offered_rate_hz", "burst_size", "burst_period_us")
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
    return {setting.key: setting.title for setting in settings(series) if setting.numeric}


def figures(series: Sequence[Series]) -> dict[str, str]:
    """What can be the y axis: the titles of columns in which these have numbers, which differ."""
    setting_keys = {item.key for item in settings(series)}
    columns = [BY_NAME[name] for name in _FIRST]
    columns += [i for i in COLUMNS if i.kind in ("number", "count") and i not in columns]
    return {
        item.name: item.title.removesuffix(_UNIT)
        for item in columns
        if item.name not in setting_keys
        and len({number(case, item.name) for case in series} - {None}) > 1
    }


def lines(series: Sequence[Series], x: str) -> list[Line]:
    """Of the setting with this key; a case that has it not is in none."""
    all_settings = settings(series)
    axis = next((setting for setting in all_settings if setting.key == x), None)
    if axis is None:
        return []
    rest = [s for s in all_settings if s.key not in (x, "model") and not _is_implied_by(s, x)]
    groups: dict[tuple[str | None, ...], list[tuple[float, Series]]] = {}
    for case in series:
        value = axis.value(case)
        if value is not None:
            group_key = (case.model, _arrivals(case, x), *(setting.value(case) for setting in rest))
            groups.setdefault(group_key, []).append((float(value), case))
    return [
        Line(cases[0][1].model, _name(cases[0][1], rest), tuple(sorted(cases, key=_place)))
        for cases in groups.values()
    ]


def _place(point: tuple[float, Series]) -> float:
    return point[0]


def _is_implied_by(setting: Setting, x: str) -> bool:
    """A scenario's word has the gap or the rate in it."""
    return setting.key == "scenario" and x in _SCENARIO_COLUMNS


def _arrivals(case: Series, x: str) -> str:
    """Its kind stays when the scenario's word is left out."""
    return case.case.scenario.kind if x in _SCENARIO_COLUMNS else ""


def _name(case: Series, rest: Sequence[Setting]) -> str:
    words = [case.runtime]
    for setting in rest:
        value = setting.value(case)
        if value is None or setting.key == "runtime":
            continue
        if setting.kind == "option":
            words.append(f"{setting.name}={value}")
        elif setting.key in UNLABELLED:
            words.append(value)
        else:
            words.append(f"{setting.title.lower()} {value}")
    return " ".join(words)
