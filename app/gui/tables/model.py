"""Series as a Qt table: texts to show, numbers to sort by, columns of baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QIcon

from app.analysis.comparison.measured_case import COMPARED
from app.analysis.insights.quality import quality_of
from app.analysis.plot_data.series import Series, quoted
from app.analysis.plot_data.settings import Setting, same_settings, settings
from app.cases.dimensions import SETTINGS
from app.cases.objectives import BAND
from app.cases.status import FAILED, WELL
from app.formatting.text import interval
from app.gui.look.text import plain_tip
from app.gui.look.theme import LIGHT, Theme, swatch, verdict_color
from app.gui.tables.columns import (
    COLUMNS,
    Column,
    DeltaColumn,
    SettingColumn,
    Term,
    columns_of,
    setting_columns,
    typed_for,
)
from app.run_folder.diagnostics import diagnostics_of, text

JUDGED = {f"latency_{name}_us": name for name in COMPARED}
"""The columns whose figures have a verdict against a baseline row."""


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
        self.band = BAND
        self.held: tuple[str, ...] = ()
        """The keys of the rows that are baselines."""
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
        self._differ(fresh)
        columns = (*columns_of(fresh), *setting_columns(self.settings, fresh), *self._deltas)
        if columns != self.columns or [s.key for s in fresh] != [s.key for s in old]:
            self.beginResetModel()
            self.series, self.columns = fresh, columns
            self._keys_by_word = _map_words(columns)
            self._by_key = {column.key: column for column in columns}
            self.endResetModel()
            return
        self.series = fresh
        changed_rows = [k for k, (a, b) in enumerate(zip(old, fresh, strict=True)) if a is not b]
        if changed_rows:
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

    def set_held(self, keys: tuple[str, ...]) -> None:
        """The rows that are baselines."""
        self.held = keys
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
        return self._bold if series.key in self.held else None

    def _describe_cell(self, series: Series, column: Column) -> str:
        return f"{column.title}: {self._text(series, column)}"

    @staticmethod
    def _alignment(series: Series, column: Column) -> Qt.AlignmentFlag:
        return _LEFT if column.kind == "text" else _RIGHT

    def _tip(self, series: Series, column: Column) -> str | float | None:
        sides = column.sides.get(series.key) if isinstance(column, DeltaColumn) else None
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
        return f"{text}{_interval(series, column)}"

    def _color(self, series: Series, column: Column) -> QColor | None:
        if column.key == "status":
            is_doubted = quality_of(series) == "doubted"
            return QColor(self._theme.warning if is_doubted else self._status_color(series.status))
        if isinstance(column, DeltaColumn):
            sides = column.sides.get(series.key)
            word = str(sides.verdict.word) if sides else ""
        else:
            word = str(series.row.get(column.key)) if column.key in VERDICTS else ""
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
