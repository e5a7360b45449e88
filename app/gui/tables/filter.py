"""Rows of the results table by filter, order and group, and the cases behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from PySide6.QtCore import QAbstractProxyModel, QItemSelection, QModelIndex, Qt
from PySide6.QtWidgets import QTableView

from app.analysis.plot_data.series import Series
from app.analysis.plot_data.settings import Setting, in_order
from app.cases.status import FAILED
from app.formatting.text import counted
from app.gui.look.text import plain_tip
from app.gui.tables.columns import Term, terms
from app.gui.tables.model import Index, ResultsModel

_NO_VALUE = "none"


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` are the places of its cases among all, `told` says of them what there is to say."""

    value: str
    rows: tuple[int, ...]
    told: str


def groups(setting: Setting, series: Sequence[Series], rows: Sequence[int]) -> list[Group]:
    """Of these rows, in the setting's own order; within a group they keep theirs."""
    rows_by_value: dict[str, list[int]] = {}
    for row in rows:
        rows_by_value.setdefault(setting.value(series[row]) or "", []).append(row)
    ordered_values = in_order(setting, [value for value in rows_by_value if value])
    ordered_values += [""] if "" in rows_by_value else []
    return [
        Group(
            value,
            tuple(rows_by_value[value]),
            _describe_group(setting, value, [series[row] for row in rows_by_value[value]]),
        )
        for value in ordered_values
    ]


def _describe_group(setting: Setting, value: str, cases: Sequence[Series]) -> str:
    """`threads 2: 14 cases, 1 failed`."""
    failed_count = sum(case.status in FAILED for case in cases)
    failed = f", {failed_count:,} failed" if failed_count else ""
    return f"{setting.title} {value or _NO_VALUE}: {counted(len(cases), 'case')}{failed}"


FILTER_HINT = (
    "Shows the rows that fulfil every term (Ctrl+F): a word of model, runtime, status, reason or a "
    "setting; column:text for what the column holds; column=value, !=, >, >=, <, <= for what it "
    "is. A column is called as in results.csv, p50, p99, batch …, or as the option or the size of "
    "the sweep. code:outliers shows the rows with that warning code. * stands for anything, quotes "
    'keep spaces: reason:"too large".'
)
GROUP_ROLE = Qt.ItemDataRole.UserRole + 1
"""Of a group's own row, its Group; None of others."""
_OPEN, _CLOSED_GLYPH = "▾", "▸"
_GROUP_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_CASE_FLAGS = _GROUP_FLAGS | Qt.ItemFlag.ItemIsSelectable
Shown = int | Group


class ResultsFilter(QAbstractProxyModel):
    """Rows that fulfil every term of the filter, sorted and grouped.

    A group has a row of its own above its cases, which can be folded away.
    """

    def __init__(self, model: ResultsModel) -> None:
        super().__init__()
        self._text, self._group = "", ""
        self._term_cache: tuple[object, list[Term]] = (None, [])
        self._sorted_by, self._order = "", Qt.SortOrder.AscendingOrder
        self._folded_values: set[str] = set()
        self._model = model
        self._shown_rows: list[Shown] = []
        self._places: dict[int, int] = {}
        self.setSourceModel(model)
        model.modelAboutToBeReset.connect(self.beginResetModel)
        model.modelReset.connect(self._source_reset)
        model.dataChanged.connect(self._source_changed)

    def set_text(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self._arrange()

    def set_group(self, key: str) -> None:
        """Group by the setting with this key; "" for no groups."""
        if key != self._group:
            self._group, self._folded_values = key, set()
            self._arrange()

    def fold(self, group: Group) -> None:
        """Fold a group's cases away, or show them again."""
        self._folded_values ^= {group.value}
        self._arrange()

    def series_at(self, row: int) -> Series | None:
        """The case in a row; None in a group's own."""
        entry = self._shown_rows[row]
        return self._model.series[entry] if isinstance(entry, int) else None

    def group_at(self, row: int) -> Group | None:
        """The group whose own row this is; None in a case's."""
        entry = self._shown_rows[row]
        return None if isinstance(entry, int) else entry

    @property
    def is_grouped(self) -> bool:
        return len(self._places) < len(self._shown_rows)

    @property
    def cases(self) -> int:
        """How many cases the filter lets through, folded or not."""
        grouped_count = sum(len(e.rows) for e in self._shown_rows if isinstance(e, Group))
        return grouped_count or len(self._shown_rows)

    def passing(self) -> list[Series]:
        """The cases that the filter lets through, folded or not."""
        series = self._model.series
        rows = (entry.rows if isinstance(entry, Group) else (entry,) for entry in self._shown_rows)
        return [series[row] for row in dict.fromkeys(chain.from_iterable(rows))]

    def _source_reset(self) -> None:
        self._take(self._arrange_rows())
        self.endResetModel()

    def _source_changed(self, first: Index, last: Index) -> None:
        if self._text or self._sorted_by or self._group:
            self._arrange()
        changed_rows = range(first.row(), last.row() + 1)
        places = [self._places[row] for row in changed_rows if row in self._places]
        if places:
            right = self.columnCount() - 1
            self.dataChanged.emit(self.index(min(places), 0), self.index(max(places), right))

    def _arrange(self) -> None:
        """Show what is to be shown now; indexes that others keep go with their cases."""
        fresh = self._arrange_rows()
        if fresh == self._shown_rows:
            return
        if {*map(_name, fresh)} != {*map(_name, self._shown_rows)}:
            self.beginResetModel()
            self._take(fresh)
            self.endResetModel()
            return
        self.layoutAboutToBeChanged.emit()
        indexes = self.persistentIndexList()
        names = [(_name(self._shown_rows[m.row()]), m.column()) for m in indexes]
        self._take(fresh)
        places = {_name(entry): place for place, entry in enumerate(fresh)}
        new_indexes = [self.index(places[name], column) for name, column in names]
        self.changePersistentIndexList(indexes, new_indexes)
        self.layoutChanged.emit()

    def _take(self, entries: list[Shown]) -> None:
        self._shown_rows = entries
        self._places = {row: place for place, row in enumerate(entries) if isinstance(row, int)}

    def _arrange_rows(self) -> list[Shown]:
        series, search_terms = self._model.series, self._terms()
        rows = list(range(len(series)))
        if search_terms:
            rows = [row for row in rows if self._model.fits(row, search_terms)]
        rows = self._model.sorted(rows, self._sorted_by, self._order)
        group_setting = next((s for s in self._model.settings if s.key == self._group), None)
        if group_setting is None:
            return [*rows]
        entries: list[Shown] = []
        for group in groups(group_setting, series, rows):
            entries += [group, *(() if group.value in self._folded_values else group.rows)]
        return entries

    def _terms(self) -> list[Term]:
        """Parsed once for all rows: the columns that may be named change with the run."""
        stamp = (self._text, self._model.typed)
        if stamp != self._term_cache[0]:
            self._term_cache = (stamp, terms(*stamp))
        return self._term_cache[1]

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """By a column, which stays the same one when others come before it; -1 for the plan's."""
        self._sorted_by = self._model.columns[column].key if column >= 0 else ""
        self._order = order
        self._arrange()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self._shown_rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return self._model.columnCount(parent)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        is_inside = (
            row < len(self._shown_rows) and column < self.columnCount() and min(row, column) >= 0
        )
        return (
            self.createIndex(row, column) if is_inside and not parent.isValid() else QModelIndex()
        )

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override] # noqa: B008
        return QModelIndex()

    def mapToSource(self, index: Index) -> QModelIndex:  # noqa: N802
        entry = self._shown_rows[index.row()] if index.isValid() else None
        return self._model.index(entry, index.column()) if isinstance(entry, int) else QModelIndex()

    def mapFromSource(self, index: Index) -> QModelIndex:  # noqa: N802
        place = self._places.get(index.row()) if index.isValid() else None
        return QModelIndex() if place is None else self.index(place, index.column())

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._shown_rows[index.row()]
        if isinstance(entry, int):
            return self._model.answer(entry, index.column(), role)
        if role == GROUP_ROLE:
            return entry
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return entry.told
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(entry.told)
        if role == Qt.ItemDataRole.DisplayRole and index.column() == 0:
            return f"{_CLOSED_GLYPH if entry.value in self._folded_values else _OPEN} {entry.told}"
        return None

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        return self._model.headerData(section, orientation, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """A group's own row is no case, so it can't be selected."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return _CASE_FLAGS if isinstance(self._shown_rows[index.row()], int) else _GROUP_FLAGS


def _name(entry: Shown) -> int | str:
    return entry if isinstance(entry, int) else entry.value


class ShownRows:
    """Always from top to bottom; a group's own row is no case."""

    def __init__(self, view: QTableView, results_filter: ResultsFilter) -> None:
        self._view, self._shown_rows = view, results_filter

    def all(self) -> list[Series]:
        return self._get_series(range(self._shown_rows.rowCount()))

    def selected(self) -> list[Series]:
        """By the ranges that are selected: to ask for rows costs a question for each cell."""
        ranges = self._view.selectionModel().selection().toList()
        rows = {row for span in ranges for row in range(span.top(), span.bottom() + 1)}
        return self._get_series(sorted(rows))

    def current(self) -> Series | None:
        """The case that the keyboard is on."""
        index = self._view.currentIndex()
        return self._shown_rows.series_at(index.row()) if index.isValid() else None

    def select(self, keys: Sequence[str] | set[str]) -> QItemSelection:
        """Select the rows of these cases and no others; what was found of them."""
        selection, item_selection = self._view.selectionModel(), QItemSelection()
        for row in range(self._shown_rows.rowCount()):
            case_series = self._shown_rows.series_at(row)
            if case_series is not None and case_series.key in keys:
                item_selection.select(*[self._shown_rows.index(row, 0)] * 2)
        flags = selection.SelectionFlag.ClearAndSelect | selection.SelectionFlag.Rows
        selection.select(item_selection, flags)
        return item_selection

    def _get_series(self, rows: Sequence[int]) -> list[Series]:
        candidates = map(self._shown_rows.series_at, rows)
        return [case_series for case_series in candidates if case_series is not None]
