"""The table itself: rows as high as their text, columns that can be moved, groups in full width."""

from __future__ import annotations

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
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from app.gui.tables.columns import COLUMNS
from app.gui.tables.filter import GROUP_ROLE, ResultsFilter


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
