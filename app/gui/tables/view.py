"""The table itself: rows as high as their text, groups in full width, columns that are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    Qt,
)
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
)

from app.gui.look.controls import tool_button
from app.gui.tables.columns import (
    ALWAYS,
    COLUMNS,
    Column,
    DeltaColumn,
    SettingColumn,
    shown_unasked,
    varying,
)
from app.gui.tables.filter import GROUP_ROLE, ResultsFilter
from app.gui.tables.model import JUDGED, VERDICTS, ResultsModel


class ColoredCells(QStyledItemDelegate):
    """Qt writes every word of a selected row in one colour; a status says by its own how it is."""

    def initStyleOption(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        color = index.data(Qt.ItemDataRole.ForegroundRole)
        if isinstance(color, QColor):
            option.palette.setColor(QPalette.ColorRole.HighlightedText, color)


_MARGIN = 8


class _Table(QTableView):
    """A group's text begins at the left of what is seen, and goes on over all of its cells."""

    def __init__(self, rows: ResultsFilter) -> None:
        super().__init__()
        self._rows = rows

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        super().paintEvent(event)
        if not self._rows.is_grouped:
            return
        painter = QPainter(self.viewport())
        font = painter.font()
        font.setBold(True)
        painter.setFont(font)
        bottom = self.rowAt(self.viewport().height() - 1)
        last = bottom if bottom >= 0 else self._rows.rowCount() - 1
        for row in range(max(0, self.rowAt(0)), last + 1):
            if self._rows.group_at(row) is not None:
                self._paint_group(painter, row)

    def _paint_group(self, painter: QPainter, row: int) -> None:
        area = QRect(0, self.rowViewportPosition(row), self.viewport().width(), self.rowHeight(row))
        painter.fillRect(area, self.palette().alternateBase())
        painter.setPen(self.palette().text().color())
        if row == self.currentIndex().row() and self.hasFocus():
            painter.drawRect(area.adjusted(0, 0, -1, -1))
        room = area.adjusted(_MARGIN, 0, -_MARGIN, 0)
        text = self._rows.index(row, 0).data()
        text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)

    def selectionCommand(  # noqa: N802
        self, index: QModelIndex | QPersistentModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        """To fold a group is not to select nothing."""
        if index.data(GROUP_ROLE) is not None:
            return QItemSelectionModel.SelectionFlag.NoUpdate
        return super().selectionCommand(index, event)


def table_view(rows: ResultsFilter) -> QTableView:
    """A view of the rows, sorted by a click on a heading."""
    view = _Table(rows)
    view.setAccessibleName("Results table")
    view.setItemDelegate(ColoredCells(view))
    view.setModel(rows)
    view.setSortingEnabled(True)
    view.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    view.setAlternatingRowColors(True)
    view.setWordWrap(False)
    view.setShowGrid(False)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.verticalHeader().hide()
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    view.verticalHeader().setDefaultSectionSize(view.fontMetrics().height() + 10)
    header = view.horizontalHeader()
    header.setSectionsMovable(True)
    header.setHighlightSections(False)
    header.setStretchLastSection(True)
    for place, column in enumerate(COLUMNS):
        view.setColumnWidth(place, column.width)
    view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    return view


class Kept:
    """What is selected, where the keyboard is and how far it is scrolled, through a reset."""

    def __init__(self, view: QTableView, rows: ResultsFilter) -> None:
        self._view, self._rows = view, rows
        self._current: tuple[str, int] | None = None
        self._scroll_value = 0
        rows.modelAboutToBeReset.connect(self._keep)

    def _keep(self) -> None:
        index = self._view.currentIndex()
        case_series = self._rows.series_at(index.row()) if index.isValid() else None
        self._current = (case_series.key, index.column()) if case_series else None
        self._scroll_value = self._view.verticalScrollBar().value()

    def give_back(self) -> None:
        """Of what is still there; a selection is nobody's business here."""
        self._view.verticalScrollBar().setValue(self._scroll_value)
        if self._current is None:
            return
        key, column = self._current
        for row in range(self._rows.rowCount()):
            case_series = self._rows.series_at(row)
            if case_series is not None and case_series.key == key:
                selection = self._view.selectionModel()
                selection.setCurrentIndex(
                    self._rows.index(row, column), selection.SelectionFlag.NoUpdate
                )
                return


_INTERVAL_WIDEST = "100.0 µs  (100.0 µs to 100.0 ms)"


class ColumnsMenu:
    """What the user chose is kept; what tells the rows of a run apart is lent beside it."""

    def __init__(self, model: ResultsModel, view: QTableView) -> None:
        self._model, self._view = model, view
        self._lent: set[str] = set()
        self._filled: dict[str, bool] = {}
        self.button = tool_button(
            "Columns",
            "Choose columns",
            "Chooses which columns of results.csv are shown; those without a value in any row "
            "are not.",
        )
        self.button.setObjectName("columns")
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.menu.setToolTipsVisible(True)
        self.button.setMenu(self.menu)
        for column in COLUMNS:
            self._offer(column)
        self._on_change()
        wide = view.fontMetrics().horizontalAdvance(_INTERVAL_WIDEST) + 24
        for place, column in enumerate(COLUMNS):
            if column.key in JUDGED:
                view.setColumnWidth(place, wide)

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
