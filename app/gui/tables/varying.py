"""The columns by which a run's rows differ: settings of the case, its options and its sizes.

An option or a size that differs is a column of its own, called as it is; which there are depends
on the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.gui.tables.columns import Column, Kind
from app.results.series import Series
from app.results.settings import TELLING, Setting, differs, own_settings

_WIDTH = 92
_NOTHING = Setting("option", "", numeric=False)


@dataclass(frozen=True, slots=True)
class SettingColumn(Column):
    """An option of a case, or a size of its model: `name` is how plan and model call it."""

    setting: Setting = _NOTHING

    @property
    def name(self) -> str:
        return self.setting.name

    def raw(self, series: Series) -> str | float | None:
        value = self.setting.value(series)
        return float(value) if value is not None and self.kind == "count" else value


def varying(series: Sequence[Series]) -> list[str]:
    """The columns by which these rows differ, of those that are not shown unasked."""
    told = [key for key in TELLING if differs(series, key)]
    return told + [column.key for column in setting_columns(series)]


def setting_columns(series: Sequence[Series]) -> list[SettingColumn]:
    """One for each option by which cases of one runtime differ, and each size that differs."""
    return [_column(setting, series) for setting in own_settings(series)]


def _column(setting: Setting, series: Sequence[Series]) -> SettingColumn:
    least = min(value for one in series if (value := setting.value(one)) is not None)
    word = "An option" if setting.of == "option" else "A size"
    hint = f"{word} of the case. In the filter: {setting.name}={least}"
    kind: Kind = "count" if setting.numeric else "text"
    return SettingColumn(setting.key, setting.name, hint, kind, _WIDTH, setting)
