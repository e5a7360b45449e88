"""The columns by which a run's rows differ: settings of the case, its options and its sizes.

An option or a size that differs is a column of its own, called as it is; which there are depends
on the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.gui.tables.columns import DEFAULT, Column, Kind
from app.plot_data.series import Series
from app.plot_data.settings import Setting

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


def varying(settings: Sequence[Setting]) -> list[str]:
    """The columns by which rows with these settings differ, of those not shown unasked."""
    return [one.key for one in settings if one.key not in DEFAULT]


def setting_columns(settings: Sequence[Setting], series: Sequence[Series]) -> list[SettingColumn]:
    """One for each option by which cases of one runtime differ, and each size that differs."""
    return [_column(setting, series) for setting in settings if setting.kind != "column"]


def _column(setting: Setting, series: Sequence[Series]) -> SettingColumn:
    least = min(value for one in series if (value := setting.value(one)) is not None)
    word = "An option" if setting.kind == "option" else "A size"
    hint = f"{word} of the case. In the filter: {setting.name}={least}"
    kind: Kind = "count" if setting.numeric else "text"
    return SettingColumn(setting.key, setting.name, hint, kind, _WIDTH, setting)
