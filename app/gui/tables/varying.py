"""The columns by which a run's rows differ: settings of the case, its options and its sizes.

An option or a size that differs is a column of its own, called as it is; which there are depends
on the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.gui.tables.columns import TELLING, Column, Kind
from app.results.series import Series

_NONE_TELLS = ("condition", "batcher")
"""Of what tells rows apart, that whose absence is a value like others."""
_SIZES_WITH_COLUMNS = ("batch", "sequence")
_WIDTH = 92
Of = Literal["option", "axis"]


@dataclass(frozen=True, slots=True)
class SettingColumn(Column):
    """An option of a case, or a size of its model: `name` is how plan and model call it."""

    of: Of = "option"
    name: str = ""

    def raw(self, series: Series) -> str | float | None:
        value = _setting(series, self.of, self.name)
        return float(value) if value is not None and self.kind == "count" else value


def varying(series: Sequence[Series]) -> list[str]:
    """The columns by which these rows differ, of those that are not shown unasked.

    A size or a gap that some rows lack sets none apart; a condition or a batcher does.
    """
    told = [key for key in TELLING if _differs(series, key)]
    return told + [column.key for column in setting_columns(series)]


def setting_columns(series: Sequence[Series]) -> list[SettingColumn]:
    """One for each option by which cases of one runtime differ, and each size that differs.

    Options belong to a runtime, so the same word of another's sets nothing apart.
    """
    return [*_columns(series, "option"), *_columns(series, "axis")]


def _columns(series: Sequence[Series], of: Of) -> Iterator[SettingColumn]:
    for name in dict.fromkeys(name for one in series for name in _names(one, of)):
        groups: dict[str, set[str | None]] = {}
        for one in series:
            group = one.runtime if of == "option" else ""
            groups.setdefault(group, set()).add(_setting(one, of, name))
        values = {value for found in groups.values() for value in found if value is not None}
        if max(map(len, groups.values() if of == "option" else [values])) > 1:
            kind: Kind = "count" if all(map(_is_number, values)) else "text"
            word = "An option" if of == "option" else "A size"
            hint = f"{word} of the case. In the filter: {name}={min(values)}"
            yield SettingColumn(f"{of}:{name}", name, hint, kind, _WIDTH, of, name)


def _names(series: Series, of: Of) -> Sequence[str]:
    if of == "option":
        return list(series.case.options)
    own = (*_SIZES_WITH_COLUMNS, series.batch_axis)
    return [name for name in series.case.axes if name not in own]


def _setting(series: Series, of: Of, name: str) -> str | None:
    """As the case has it; an option that it leaves to its runtime as the rounds have told it."""
    own = series.case.options if of == "option" else series.case.axes
    if name in own:
        return str(own[name])
    pairs = (pair.partition("=") for pair in str(series.row.get("options") or "").split())
    return next((value for told, _, value in pairs if of == "option" and told == name), None)


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _differs(series: Sequence[Series], key: str) -> bool:
    values = {str(one.row.get(key) or "") for one in series}
    return len(values if key in _NONE_TELLS else values - {""}) > 1
