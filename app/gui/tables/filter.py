"""Which rows of the results table are shown and in which order: by the filter and a status."""

from __future__ import annotations

from PySide6.QtCore import QSortFilterProxyModel, Qt

from app.cases.status import STATUSES, WELL
from app.gui.tables.model import SORT_ROLE, Index, ResultsModel
from app.gui.tables.query import Term, terms

FILTER_HINT = (
    "Shows the rows that fulfil every term (Ctrl+F): a word of model, runtime, status, reason or a "
    "setting; column:text for what the column holds; column=value, !=, >, >=, <, <= for what it "
    "is. A column is called as in results.csv, p50, p99, batch …, or as the option or the size of "
    'the sweep. * stands for anything, quotes keep spaces: warnings:"more was running".'
)


class ResultsFilter(QSortFilterProxyModel):
    """Rows that fulfil every term of the filter, and whose status is wanted."""

    def __init__(self, model: ResultsModel) -> None:
        super().__init__()
        self._text = ""
        self._parsed: tuple[object, list[Term]] = (None, [])
        self._statuses = ""
        self._model = model
        self.setSourceModel(model)
        self.setSortRole(SORT_ROLE)
        self.setDynamicSortFilter(True)

    def set_text(self, text: str) -> None:
        self.beginFilterChange()
        self._text = text
        self.endFilterChange(self.Direction.Rows)

    def set_statuses(self, which: str) -> None:
        """ "" for all, `ok`, or `not_ok` for all that ended in any other way."""
        self.beginFilterChange()
        self._statuses = which
        self.endFilterChange(self.Direction.Rows)

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:  # noqa: N802
        status = self._model.series[row].status
        if self._statuses == "ok" and status not in WELL:
            return False
        if self._statuses == "not_ok" and (status in WELL or status not in STATUSES):
            return False
        return self._model.fits(row, self._terms())

    def _terms(self) -> list[Term]:
        """Parsed once for all rows: the columns that may be named change with the run."""
        stamp = (self._text, self._model.typed)
        if stamp != self._parsed[0]:
            self._parsed = (stamp, terms(*stamp))
        return self._parsed[1]

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._model.missing_last(order)
        super().sort(column, order)
