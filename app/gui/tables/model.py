"""Series as a Qt table: texts to show, numbers to sort by, each figure beside a baseline's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QIcon

from app.cases.dimensions import SETTINGS
from app.cases.objectives import BAND
from app.cases.status import FAILED, WELL
from app.comparison.judge import Sides, judge_pairs
from app.comparison.measured_case import COMPARED
from app.comparison.pairing import Pair
from app.formatting.text import interval, significant
from app.gui.look.icons import swatch
from app.gui.look.text import plain_tip
from app.gui.look.theme import LIGHT, Theme, verdict_color
from app.gui.tables.columns import (
    COLUMNS,
    Column,
    DeltaColumn,
    SettingColumn,
    columns_of,
    delta_columns,
    setting_columns,
)
from app.gui.tables.query import Term, typed_for
from app.insights.quality import quality_of
from app.plot_data.series import Baseline, Series, is_same_work, quoted, ranked
from app.plot_data.settings import Setting, same_settings, settings
from app.run_folder.diagnostics import diagnostics_of, text

JUDGED = {f"latency_{name}_us": name for name in COMPARED}
"""The columns whose figures have a verdict against a baseline row."""


class BaselineRow:
    """`series` is that row, None for no comparison; `band` is within what a change is none."""

    def __init__(self) -> None:
        self.series: Series | None = None
        self.band = BAND
        self._verdicts: dict[str, Mapping[str, Sides]] = {}

    def renew(self, series: Sequence[Series]) -> None:
        """The same case among these, where it is still there."""
        if self.series is not None:
            self.series = {case_series.key: case_series for case_series in series}.get(
                self.series.key
            )
            self.judge(series)

    def judge(self, series: Sequence[Series]) -> None:
        """The verdicts by key, of those whose figures may be compared with the baseline's."""
        self._verdicts = {}
        series_by_key = {item.key: item for item in ranked(series)}
        base = series_by_key.pop(self.series.key, None) if self.series is not None else None
        if base is not None:
            pairs = [
                Pair(item.key, base.measured, item.measured)
                for item in series_by_key.values()
                if is_same_work(item, base)
            ]
            comparisons = judge_pairs(pairs, self.band, in_turn=True)
            self._verdicts = {item.label: item.percentiles for item in comparisons}

    def sides(self, series: Series, column: Column) -> Sides | None:
        """The figure beside the baseline's; None where it has no verdict."""
        if isinstance(column, DeltaColumn):
            return column.sides.get(series.key)
        return self._verdicts.get(series.key, {}).get(JUDGED.get(column.key, ""))

    def change(self, series: Series, column: Column) -> float | None:
        """The ratio to the baseline's figure, where both rows may be compared."""
        base = self.series
        if base is None or base is series or column.kind not in ("lower", "higher"):
            return None
        if series.status != "ok" or base.status != "ok":
            return None
        value, reference = column.raw(series), column.raw(base)
        if isinstance(value, str) or isinstance(reference, str):
            return None
        return value / reference if value and reference else None


def change_text(change: float) -> str:
    """A ratio to the baseline: -12 %, +4.1 %, and as a factor from three times on."""
    if change >= 3.0:
        return f"{significant(change)}x"
    percent = significant(100.0 * (change - 1.0), 2)
    if float(percent) == 0.0 or abs(change - 1.0) < 5e-4:
        return "±0 %"
    return f"{'+' if change > 1.0 else ''}{percent} %"


_IDENTITY = ("model", "runtime", "precision", "status", "clock", "reason", "device_name")
_SEARCH_COLUMNS = tuple(column for column in COLUMNS if column.key in (*_IDENTITY, *SETTINGS))
DOUBTED = "!"
"""Behind the status of a case that ended well, and whose figures should be doubted."""
VERDICTS = tuple(f"baseline_{name}_verdict" for name in COMPARED)
"""The columns in which a row has the verdict of its plan's own baseline."""
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
Index = QModelIndex | QPersistentModelIndex


class ResultsModel(QAbstractTableModel):
    """One row per series; all columns, of which the view shows some.

    `columns` grow by those of the percentiles that a run's plan chose, and of the `settings` by
    which the rows differ.
    """

    def __init__(self) -> None:
        super().__init__()
        self.series: tuple[Series, ...] = ()
        self.columns = COLUMNS
        self.settings: tuple[Setting, ...] = ()
        self._theme = LIGHT
        self._baseline_row = BaselineRow()
        self._deltas: tuple[DeltaColumn, ...] = ()
        self._looks: Mapping[str, tuple[QColor, QBrush]] = {}
        self._keys_by_word = _map_words(self.columns)
        self._by_key = {column.key: column for column in self.columns}
        self._raw: tuple[str, tuple[Series, ...], list[Any]] = "", (), []
        self._words: dict[str, tuple[Series, str]] = {}
        self._bold = QFont()
        self._bold.setBold(True)
        role = Qt.ItemDataRole
        self._answers: dict[int, Callable[[Series, Column], object]] = {
            role.DisplayRole: self._text,
            role.TextAlignmentRole: self._alignment,
            role.ForegroundRole: self._color,
            role.DecorationRole: self._swatch,
            role.FontRole: self._font,
            role.ToolTipRole: self._tip,
            role.AccessibleTextRole: self._describe_cell,
        }

    def set_series(self, series: Sequence[Series]) -> None:
        """Show these; rows that stay the same case keep their place and selection."""
        fresh, old = tuple(series), self.series
        self._baseline_row.renew(fresh)
        self._differ(fresh)
        columns = (*columns_of(fresh), *setting_columns(self.settings, fresh), *self._deltas)
        if columns != self.columns or [case_series.key for case_series in fresh] != [
            case_series.key for case_series in old
        ]:
            self.beginResetModel()
            self.series, self.columns = fresh, columns
            self._keys_by_word = _map_words(columns)
            self._by_key = {column.key: column for column in columns}
            self.endResetModel()
            return
        self.series = fresh
        changed_rows = [k for k, (a, b) in enumerate(zip(old, fresh, strict=True)) if a is not b]
        if changed_rows and self.baseline is not None:
            self._tell(0, len(fresh) - 1)  # all are judged together
        elif changed_rows:
            self._tell(changed_rows[0], changed_rows[-1])

    def set_deltas(self, deltas: Sequence[DeltaColumn]) -> None:
        """Have these columns after all others."""
        base_columns = self.columns[: len(self.columns) - len(self._deltas)]
        same = self._deltas == tuple(deltas)
        if not same:
            self.beginResetModel()
        self._deltas = tuple(deltas)
        self.columns = (*base_columns, *self._deltas)
        self._by_key = {column.key: column for column in self.columns}
        if not same:
            self._keys_by_word = _map_words(self.columns)
            self.endResetModel()
        self._tell(0, len(self.series) - 1)

    def set_swatches(self, looks: Mapping[str, tuple[QColor, QBrush]]) -> None:
        """The colour and the fill by key that cases have in the plots; those of others are empty
        frames in the runtime's colour."""
        self._looks = looks
        self._tell(0, len(self.series) - 1)

    def _differ(self, fresh: Sequence[Series]) -> None:
        """By what these rows differ: looked through anew only where some row's settings moved."""
        old = self.series
        same = len(old) == len(fresh) and all(
            old_series is now or same_settings(old_series, now)
            for old_series, now in zip(old, fresh, strict=True)
        )
        if not same:
            self.settings = tuple(settings(fresh))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._tell(0, len(self.series) - 1)

    @property
    def band(self) -> float:
        return self._baseline_row.band

    @property
    def baseline(self) -> Series | None:
        return self._baseline_row.series

    def set_baseline(self, series: Series | None) -> None:
        """The row that all others are compared with; None for no comparison."""
        self._baseline_row.series = series
        self._baseline_row.judge(self.series)
        self._tell(0, len(self.series) - 1)

    def set_band(self, band: float) -> None:
        """A change within it counts as none, as the run's plan has it."""
        if band != self.band:
            self._baseline_row.band = band
            self._baseline_row.judge(self.series)
            self._tell(0, len(self.series) - 1)

    def sorted(self, rows: Sequence[int], key: str, order: Qt.SortOrder) -> list[int]:
        """These rows by the raw values of a column, empty cells last in either order."""
        column = next((candidate for candidate in self.columns if candidate.key == key), None)
        if column is None:
            return [*rows]
        raw = self._raw_of(column)
        known_rows = [row for row in rows if raw[row] is not None]
        known_rows.sort(key=raw.__getitem__, reverse=order == Qt.SortOrder.DescendingOrder)
        return [*known_rows, *(row for row in rows if raw[row] is None)]

    def _raw_of(self, column: Column) -> list[Any]:
        """The raw values of all rows: of those that are as they were, what was read before."""
        key, series, values = self._raw
        if key == column.key and len(series) == len(self.series):
            triples = zip(series, self.series, values, strict=True)
            fresh = [value if old is new else column.raw(new) for old, new, value in triples]
        else:
            fresh = [column.raw(case_series) for case_series in self.series]
        self._raw = column.key, self.series, fresh
        return fresh

    def _tell(self, first: int, last: int) -> None:
        if 0 <= first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.columnCount() - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self.series)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self.columns)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.columns[section].title
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.columns[section].hint
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if self.columns[section].kind == "text" else _RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self.answer(index.row(), index.column(), role)

    def answer(self, row: int, column: int, role: int) -> object:
        """What `data` tells of a cell, without an index of it."""
        handler = self._answers.get(role)
        return None if handler is None else handler(self.series[row], self.columns[column])

    def _swatch(self, series: Series, column: Column) -> QIcon | None:
        if column.key != "runtime":
            return None
        if series.key not in self._looks:
            return None
        color, brush = self._looks[series.key]
        return swatch(color, QColor(self._theme.base), brush.style())

    def _font(self, series: Series, column: Column) -> QFont | None:
        return self._bold if series is self.baseline else None

    def _describe_cell(self, series: Series, column: Column) -> str:
        return f"{column.title}: {self._text(series, column)}"

    @staticmethod
    def _alignment(series: Series, column: Column) -> Qt.AlignmentFlag:
        return _LEFT if column.kind == "text" else _RIGHT

    def _tip(self, series: Series, column: Column) -> str | float | None:
        sides = self._baseline_row.sides(series, column)
        if sides is not None:
            band_text = f"a change within {100 * self.band:g}% does not count"
            return plain_tip(f"{sides.verdict.word}: {sides.verdict.detail or band_text}")
        if column.key == "status" and series.row.get("warnings"):
            return plain_tip("\n".join(map(text, diagnostics_of(series.row))))
        value = column.raw(series) if column.kind == "text" else None
        return plain_tip(value) if isinstance(value, str) else value

    @property
    def typed(self) -> Mapping[str, str]:
        """The columns by what the filter calls them."""
        return self._keys_by_word

    def fits(self, row: int, terms: Sequence[Term]) -> bool:
        """Whether a row fulfils every term of a filter."""
        series = self.series[row]
        return all(
            term.fits(self._by_key[term.key].raw(series))
            if term.key in self._by_key
            else term.stands_in(self._join_search_text(series))
            for term in terms
        )

    def _join_search_text(self, series: Series) -> str:
        """Kept for as long as the row is the same: a word is looked for in all of them."""
        entry = self._words.get(series.key)
        if entry is None or entry[0] is not series:
            entry = self._words[series.key] = series, _join_search_text(series)
        return entry[1]

    def _text(self, series: Series, column: Column) -> str:
        if isinstance(column, DeltaColumn):
            return column.told(series)
        text = column.text(column.raw(series))
        if column.key == "status" and text == "ok" and quality_of(series) == "doubted":
            return f"{text} {DOUBTED}"
        change = self._baseline_row.change(series, column)
        if change is None:
            return f"{text}{_interval(series, column)}"
        sides = self._baseline_row.sides(series, column)
        word = f" {sides.verdict.word}" if sides else ""
        return f"{text}  {change_text(change)}{word}"

    def _color(self, series: Series, column: Column) -> QColor | None:
        if column.key == "status":
            is_doubted = quality_of(series) == "doubted"
            return QColor(self._theme.warning if is_doubted else self._status_color(series.status))
        sides = self._baseline_row.sides(series, column)
        word = sides.verdict.word if sides else series.row.get(column.key)
        if sides is None and column.key not in VERDICTS:
            return None
        return verdict_color(str(word), self._theme) if word in ("faster", "slower") else None

    def _status_color(self, status: str) -> str:
        if status in FAILED:
            return self._theme.bad
        return self._theme.good if status in WELL else self._theme.warning


def _map_words(columns: Sequence[Column]) -> dict[str, str]:
    return typed_for([(c.key, c.name if isinstance(c, SettingColumn) else "") for c in columns])


def _join_search_text(series: Series) -> str:
    """What a word of the filter may stand in: who the case is, its settings, how it ended."""
    words = [column.text(column.raw(series)) for column in _SEARCH_COLUMNS]
    case_settings = {**series.case.axes, **series.case.options}
    return " ".join([*words, *(f"{name}={value}" for name, value in case_settings.items())])


def _interval(series: Series, column: Column) -> str:
    """The 95 % interval behind a percentile that is judged; "" where it has none."""
    if column.key not in JUDGED:
        return ""
    quote = quoted(series, JUDGED[column.key])
    if quote is None or quote.low_us is None or quote.high_us is None:
        return ""
    return f"  ({interval(quote.low_us, quote.high_us)})"


class HeldAgainst:
    """The last row chosen is told beside every figure; what else there is has columns."""

    def __init__(self, model: ResultsModel) -> None:
        self._model = model
        self.keys: tuple[str, ...] = ()
        self._baselines: tuple[Baseline, ...] = ()

    def toggle(self, key: str) -> None:
        """Hold all rows against this one too, or no longer; "" for no row changes nothing."""
        other_keys = tuple(other_key for other_key in self.keys if other_key != key)
        self.set(other_keys if key in self.keys or not key else (*other_keys, key))

    def set(self, keys: Sequence[str]) -> None:
        """Those of these that there are."""
        by_key = {case_series.key: case_series for case_series in self._model.series}
        self.keys = tuple(key for key in keys if key in by_key)
        self._model.set_baseline(by_key[self.keys[-1]] if self.keys else None)

    def set_baselines(self, baselines: Sequence[Baseline]) -> None:
        """All that there are, those of other runs too."""
        self._baselines = tuple(baselines)
        self.renew()

    def renew(self) -> None:
        """Judge anew: other rounds may be there."""
        baseline = self._model.baseline
        baselines = [
            candidate
            for candidate in self._baselines
            if baseline is None
            or candidate.case_series is None
            or candidate.case_series.key != baseline.key
        ]
        self._model.set_deltas(delta_columns(baselines, self._model.series, self._model.band))
