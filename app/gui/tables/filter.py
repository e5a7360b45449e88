"""Rows of the results table by filter, status, order and group, and the cases behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from PySide6.QtCore import QAbstractProxyModel, QItemSelection, QModelIndex, Qt
from PySide6.QtWidgets import QTableView

from app.cases.status import FAILED, STATUSES, WELL
from app.formatting.text import CLOCK_TEXT, latency
from app.gui.look.text import plain_tip
from app.gui.tables.model import Index, ResultsModel
from app.gui.tables.query import Term, terms
from app.plot_data.series import Series, number, ranked
from app.plot_data.settings import Setting, in_order

_WITHOUT = "none"
_FIGURES = {"p50": "latency_p50_us", "p99": "latency_p99_us"}


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` are the places of its cases among all, `told` says of them what there is to say."""

    value: str
    rows: tuple[int, ...]
    told: str


def groups(setting: Setting, series: Sequence[Series], rows: Sequence[int]) -> list[Group]:
    """Of these rows, in the setting's own order; within a group they keep theirs."""
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(setting.value(series[row]) or "", []).append(row)
    ordered = in_order(setting, [value for value in found if value])
    ordered += [""] if "" in found else []
    return [
        Group(
            value, tuple(found[value]), _told(setting, value, [series[row] for row in found[value]])
        )
        for value in ordered
    ]


def _told(setting: Setting, value: str, cases: Sequence[Series]) -> str:
    """`threads 2: 14 cases, 1 failed; best p50 9.50 µs (wall clock, fp32); best p99 …`."""
    failed = sum(one.status in FAILED for one in cases)
    count = f"{len(cases):,} case{'s' * (len(cases) != 1)}" + (
        f", {failed:,} failed" * bool(failed)
    )
    best = [
        f"best {name} " + ", ".join(f"{latency(us)} ({of})" for of, us in known.items())
        for name, column in _FIGURES.items()
        if (known := _best(cases, column))
    ]
    return "; ".join([f"{setting.title} {value or _WITHOUT}: {count}", *best])


def _best(cases: Sequence[Series], column: str) -> Mapping[str, float]:
    """The least of each clock and precision, which are no rivals of each other."""
    found: dict[str, float] = {}
    for one in ranked(cases):
        value = number(one, column)
        if value:
            precision = str(one.row.get("precision") or one.case.precision)
            of = f"{CLOCK_TEXT[one.clock]}, {precision}"
            found[of] = min(found.get(of, value), value)
    return found


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


class ShownRows:
    """Always from top to bottom; a group's own row is no case."""

    def __init__(self, view: QTableView, shown: ResultsFilter) -> None:
        self._view, self._shown = view, shown

    def all(self) -> list[Series]:
        return self._at(range(self._shown.rowCount()))

    def selected(self) -> list[Series]:
        """By the ranges that are selected: to ask for rows costs a question for each cell."""
        ranges = self._view.selectionModel().selection().toList()
        return self._at(sorted({r for one in ranges for r in range(one.top(), one.bottom() + 1)}))

    def current(self) -> Series | None:
        """The case that the keyboard is on."""
        index = self._view.currentIndex()
        return self._shown.series_at(index.row()) if index.isValid() else None

    def select(self, keys: Sequence[str] | set[str]) -> QItemSelection:
        """Select the rows of these cases and no others; what was found of them."""
        selection, chosen = self._view.selectionModel(), QItemSelection()
        for row in range(self._shown.rowCount()):
            one = self._shown.series_at(row)
            if one is not None and one.key in keys:
                chosen.select(*[self._shown.index(row, 0)] * 2)
        flags = selection.SelectionFlag.ClearAndSelect | selection.SelectionFlag.Rows
        selection.select(chosen, flags)
        return chosen

    def _at(self, rows: Sequence[int]) -> list[Series]:
        found = map(self._shown.series_at, rows)
        return [one for one in found if one is not None]
