"""The cases behind the rows of the results table: those shown, those selected, the current one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelection
from PySide6.QtWidgets import QTableView

from app.gui.tables.filter import ResultsFilter
from app.plot_data.series import Series


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
