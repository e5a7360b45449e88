"""Which columns of results.csv the table shows, in which order and how wide: a button, a menu."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from PySide6.QtWidgets import QMenu, QTableView, QToolButton

from app.gui.tables.columns import (
    ALWAYS,
    COLUMNS,
    Column,
    DeltaColumn,
    SettingColumn,
    shown_unasked,
    varying,
)
from app.gui.tables.model import JUDGED, VERDICTS, ResultsModel

_TOLD_WIDEST = "100.0 µs  +100 % undecided"
_INTERVAL_WIDEST = "100.0 µs  (100.0 µs to 100.0 ms)"


class ColumnsMenu:
    """What the user chose is kept; what tells the rows of a run apart is lent beside it."""

    def __init__(self, model: ResultsModel, view: QTableView) -> None:
        self._model, self._view = model, view
        self._lent: set[str] = set()
        self._filled: dict[str, bool] = {}
        self.button = QToolButton()
        self.button.setObjectName("columns")
        self.button.setText("Columns")
        self.button.setAccessibleName("Choose columns")
        self.button.setToolTip(
            "Chooses which columns of results.csv are shown; those without a value in any row "
            "are not."
        )
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.menu.setToolTipsVisible(True)
        self.button.setMenu(self.menu)
        for column in COLUMNS:
            self._offer(column)
        self._on_change()
        self.fit_judged()

    def visible(self) -> list[str]:
        """The keys of the columns that the user has shown."""
        checked_keys = [a.data() for a in self.menu.actions() if a.isChecked()]
        return [key for key in checked_keys if key not in self._lent]

    def show_only(self, keys: Sequence[str]) -> None:
        """Show these; keys that are no columns are ignored."""
        for action in self.menu.actions():
            action.setChecked(action.data() in keys)
        self._on_change()

    def shown(self) -> list[Column]:
        """The columns in sight, from left to right."""
        header, columns = self._view.horizontalHeader(), self._model.columns
        order = sorted(range(len(columns)), key=header.visualIndex)
        return [columns[k] for k in order if not header.isSectionHidden(k)]

    @contextmanager
    def following(self) -> Iterator[Callable[[], bool]]:
        """What is done inside may change the model's columns, which are offered afterwards: the
        percentiles that a run's plan chose, the settings that its cases vary, what is compared
        with. Gives whether they have changed."""
        columns, widths = self._model.columns, self._read_widths()
        yield lambda: columns != self._model.columns
        if columns != self._model.columns:
            for action in self.menu.actions()[len(COLUMNS) :]:
                self.menu.removeAction(action)
            for column in self._model.columns[len(COLUMNS) :]:
                self._offer(column)
            self._arrange(widths)
            self._on_change()

    def lend(self, judged: bool) -> None:
        """Show what tells these rows apart, and no longer what only told others apart; the
        verdicts too where rows are `judged`."""
        wanted_keys = {*varying(self._model.settings), *(VERDICTS if judged else ())}
        for action in self.menu.actions():
            key = action.data()
            if key in wanted_keys and not action.isChecked():
                self._lent.add(key)
                action.setChecked(True)
            elif key in self._lent and key not in wanted_keys:
                self._lent.discard(key)
                action.setChecked(False)

    def fit_judged(self) -> None:
        """Room for a figure with its interval, or with its distance and its verdict."""
        widest_text = _TOLD_WIDEST if self._model.baseline is not None else _INTERVAL_WIDEST
        wide = self._view.fontMetrics().horizontalAdvance(widest_text) + 24
        for place, column in enumerate(self._model.columns):
            if column.key in JUDGED:
                self._view.setColumnWidth(place, wide)

    def _offer(self, column: Column) -> None:
        action = self.menu.addAction(column.title)
        action.setData(column.key)
        action.setToolTip(column.hint)
        action.setCheckable(True)
        action.setChecked(shown_unasked(column.key) or isinstance(column, DeltaColumn))
        action.toggled.connect(self._on_change)

    def _read_widths(self) -> dict[str, int]:
        """The columns from left to right, and how wide each is."""
        header, columns = self._view.horizontalHeader(), self._model.columns
        order = sorted(range(len(columns)), key=header.visualIndex)
        return {columns[k].key: header.sectionSize(k) for k in order}

    def _arrange(self, widths_before: Mapping[str, int]) -> None:
        """As it was before there were other columns; new settings come before the status."""
        header, columns = self._view.horizontalHeader(), self._model.columns
        places = {column.key: place for place, column in enumerate(columns)}
        order = [key for key in widths_before if key in places]
        new = [column.key for column in columns if column.key not in widths_before]
        settings = [key for key in new if isinstance(columns[places[key]], SettingColumn)]
        status = order.index("status")
        order[status:status] = settings
        order += [key for key in new if key not in settings]
        for visual, key in enumerate(order):
            header.moveSection(header.visualIndex(places[key]), visual)
            width = widths_before.get(key) or columns[places[key]].width
            self._view.setColumnWidth(places[key], width)

    def fit_filled(self) -> None:
        """Hide the columns that no row has a value in, and show those that have got one."""
        filled_by_key = {column.key: self._is_filled(column) for column in self._model.columns}
        if filled_by_key != self._filled:
            self._filled = filled_by_key
            self._on_change()

    def _is_filled(self, column: Column) -> bool:
        series = self._model.series
        if column.key in ALWAYS or not series:
            return True
        return any(column.raw(case_series) is not None for case_series in series)

    def _on_change(self, *_: object) -> None:
        for place, action in enumerate(self.menu.actions()):
            is_filled = self._filled.get(action.data(), True)
            self._view.setColumnHidden(place, not (action.isChecked() and is_filled))
