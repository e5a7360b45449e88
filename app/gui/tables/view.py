"""The table itself: rows as high as their text, columns that can be moved, groups in full width."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    Qt,
)
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from app.gui.tables.columns import COLUMNS
from app.gui.tables.filter import GROUP_ROLE, ResultsFilter

_MARGIN = 8


class _Rows(QStyledItemDelegate):
    """A group's text begins at the left of what is seen, and goes on over all of its cells."""

    def __init__(self, view: QTableView) -> None:
        super().__init__(view)
        self._view = view

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        if index.data(GROUP_ROLE) is None:
            super().paint(painter, option, index)
            return
        text = index.siblingAtColumn(0).data()
        area: QRect = option.rect  # type: ignore[attr-defined]
        width = self._view.viewport().width()
        painter.save()
        painter.setClipRect(area)
        painter.fillRect(area, self._view.palette().alternateBase())
        font = painter.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(self._view.palette().text().color())
        room = QRect(_MARGIN, area.top(), width - 2 * _MARGIN, area.height())
        text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()


class _Table(QTableView):
    def selectionCommand(  # noqa: N802
        self, index: QModelIndex | QPersistentModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        """To fold a group is not to select nothing."""
        if index.data(GROUP_ROLE) is not None:
            return QItemSelectionModel.SelectionFlag.NoUpdate
        return super().selectionCommand(index, event)


def table_view(model: QAbstractItemModel) -> QTableView:
    """A view of the rows, sorted by a click on a heading."""
    view = _Table()
    view.setAccessibleName("Results table")
    view.setModel(model)
    view.setItemDelegate(_Rows(view))
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
        self._scrolled = 0
        rows.modelAboutToBeReset.connect(self._keep)

    def _keep(self) -> None:
        index = self._view.currentIndex()
        one = self._rows.series_at(index.row()) if index.isValid() else None
        self._current = (one.key, index.column()) if one else None
        self._scrolled = self._view.verticalScrollBar().value()

    def give_back(self) -> None:
        """Of what is still there; a selection is nobody's business here."""
        self._view.verticalScrollBar().setValue(self._scrolled)
        if self._current is None:
            return
        key, column = self._current
        for row in range(self._rows.rowCount()):
            one = self._rows.series_at(row)
            if one is not None and one.key == key:
                selection = self._view.selectionModel()
                selection.setCurrentIndex(
                    self._rows.index(row, column), selection.SelectionFlag.NoUpdate
                )
                return
