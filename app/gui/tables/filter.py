"""Which rows of the results table are shown and in which order: filter, status, sorting, groups.

Rows are arranged in one go whenever something moved: a comparison for each two rows, as Qt's own
proxy asks for, would cost half a second for 5,000.
"""

from __future__ import annotations

from itertools import chain

from PySide6.QtCore import QAbstractProxyModel, QModelIndex, Qt

from app.cases.status import STATUSES, WELL
from app.gui.look.words import plain_tip
from app.gui.tables.groups import Group, groups
from app.gui.tables.model import Index, ResultsModel
from app.gui.tables.query import Term, terms
from app.plot_data.series import Series

FILTER_HINT = (
    "Shows the rows that fulfil every term (Ctrl+F): a word of model, runtime, status, reason or a "
    "setting; column:text for what the column holds; column=value, !=, >, >=, <, <= for what it "
    "is. A column is called as in results.csv, p50, p99, batch …, or as the option or the size of "
    "the sweep. code:outliers shows the rows with that warning code. * stands for anything, quotes "
    'keep spaces: reason:"too large".'
)
GROUP_ROLE = Qt.ItemDataRole.UserRole + 1
"""Of a group's own row, its Group; None of others."""
_OPEN, _CLOSED = "▾", "▸"
_OF_GROUP = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_OF_CASE = _OF_GROUP | Qt.ItemFlag.ItemIsSelectable
Shown = int | Group


class ResultsFilter(QAbstractProxyModel):
    """Rows that fulfil every term of the filter, and whose status is wanted, sorted and grouped.

    A group has a row of its own above its cases, which can be folded away.
    """

    def __init__(self, model: ResultsModel) -> None:
        super().__init__()
        self._text, self._statuses, self._group = "", "", ""
        self._parsed: tuple[object, list[Term]] = (None, [])
        self._sorted_by, self._order = "", Qt.SortOrder.AscendingOrder
        self._closed: set[str] = set()
        self._model = model
        self._shown: list[Shown] = []
        self._places: dict[int, int] = {}
        self.setSourceModel(model)
        model.modelAboutToBeReset.connect(self.beginResetModel)
        model.modelReset.connect(self._source_reset)
        model.dataChanged.connect(self._source_changed)

    def set_text(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self._arrange()

    def set_statuses(self, which: str) -> None:
        """ "" for all, `ok`, or `not_ok` for all that ended in any other way."""
        if which != self._statuses:
            self._statuses = which
            self._arrange()

    def set_group(self, key: str) -> None:
        """Group by the setting with this key; "" for no groups."""
        if key != self._group:
            self._group, self._closed = key, set()
            self._arrange()

    def fold(self, group: Group) -> None:
        """Fold a group's cases away, or show them again."""
        self._closed ^= {group.value}
        self._arrange()

    def series_at(self, row: int) -> Series | None:
        """The case in a row; None in a group's own."""
        shown = self._shown[row]
        return self._model.series[shown] if isinstance(shown, int) else None

    def group_at(self, row: int) -> Group | None:
        """The group whose own row this is; None in a case's."""
        shown = self._shown[row]
        return None if isinstance(shown, int) else shown

    @property
    def is_grouped(self) -> bool:
        return len(self._places) < len(self._shown)

    @property
    def cases(self) -> int:
        """How many cases the filter lets through, folded or not."""
        return sum(len(one.rows) for one in self._shown if isinstance(one, Group)) or len(
            self._shown
        )

    def passing(self) -> list[Series]:
        """The cases that the filter lets through, folded or not."""
        series = self._model.series
        rows = (one.rows if isinstance(one, Group) else (one,) for one in self._shown)
        return [series[row] for row in dict.fromkeys(chain.from_iterable(rows))]

    def _source_reset(self) -> None:
        self._take(self._arranged())
        self.endResetModel()

    def _source_changed(self, first: Index, last: Index) -> None:
        if self._text or self._statuses or self._sorted_by or self._group:
            self._arrange()
        places = [
            place for row in range(first.row(), last.row() + 1)
            if (place := self._places.get(row)) is not None
        ]  # fmt: skip
        if places:
            right = self.columnCount() - 1
            self.dataChanged.emit(self.index(min(places), 0), self.index(max(places), right))

    def _arrange(self) -> None:
        """Show what is to be shown now; indexes that others keep go with their cases."""
        fresh = self._arranged()
        if fresh == self._shown:
            return
        if {*map(_name, fresh)} != {*map(_name, self._shown)}:
            self.beginResetModel()
            self._take(fresh)
            self.endResetModel()
            return
        self.layoutAboutToBeChanged.emit()
        kept = self.persistentIndexList()
        names = [(_name(self._shown[one.row()]), one.column()) for one in kept]
        self._take(fresh)
        places = {_name(shown): place for place, shown in enumerate(fresh)}
        moved = [self.index(places[name], column) for name, column in names]
        self.changePersistentIndexList(kept, moved)
        self.layoutChanged.emit()

    def _take(self, shown: list[Shown]) -> None:
        self._shown = shown
        self._places = {one: place for place, one in enumerate(shown) if isinstance(one, int)}

    def _arranged(self) -> list[Shown]:
        series, wanted = self._model.series, self._terms()
        rows = list(range(len(series)))
        if wanted or self._statuses:
            rows = [
                row
                for row in rows
                if self._has_status(series[row]) and self._model.fits(row, wanted)
            ]
        rows = self._model.sorted(rows, self._sorted_by, self._order)
        by = next((one for one in self._model.settings if one.key == self._group), None)
        if by is None:
            return [*rows]
        shown: list[Shown] = []
        for group in groups(by, series, rows):
            shown += [group, *(() if group.value in self._closed else group.rows)]
        return shown

    def _has_status(self, series: Series) -> bool:
        status = series.status
        if self._statuses == "ok":
            return status in WELL
        return self._statuses != "not_ok" or (status in STATUSES and status not in WELL)

    def _terms(self) -> list[Term]:
        """Parsed once for all rows: the columns that may be named change with the run."""
        stamp = (self._text, self._model.typed)
        if stamp != self._parsed[0]:
            self._parsed = (stamp, terms(*stamp))
        return self._parsed[1]

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """By a column, which stays the same one when others come before it; -1 for the plan's."""
        self._sorted_by = self._model.columns[column].key if column >= 0 else ""
        self._order = order
        self._arrange()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        return self._model.columnCount(parent)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        inside = row < len(self._shown) and column < self.columnCount() and min(row, column) >= 0
        return self.createIndex(row, column) if inside and not parent.isValid() else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override] # noqa: B008
        return QModelIndex()

    def mapToSource(self, index: Index) -> QModelIndex:  # noqa: N802
        shown = self._shown[index.row()] if index.isValid() else None
        return self._model.index(shown, index.column()) if isinstance(shown, int) else QModelIndex()

    def mapFromSource(self, index: Index) -> QModelIndex:  # noqa: N802
        place = self._places.get(index.row()) if index.isValid() else None
        return QModelIndex() if place is None else self.index(place, index.column())

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        shown = self._shown[index.row()]
        if isinstance(shown, int):
            return self._model.answer(shown, index.column(), role)
        if role == GROUP_ROLE:
            return shown
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return shown.told
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(shown.told)
        if role == Qt.ItemDataRole.DisplayRole and index.column() == 0:
            return f"{_CLOSED if shown.value in self._closed else _OPEN} {shown.told}"
        return None

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        return self._model.headerData(section, orientation, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """A group's own row is no case, so it can't be selected."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return _OF_CASE if isinstance(self._shown[index.row()], int) else _OF_GROUP


def _name(shown: Shown) -> int | str:
    return shown if isinstance(shown, int) else shown.value
