"""The baselines below the series list, each in its grey, and where they are given names."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QColor
from PySide6.QtWidgets import QLabel, QListWidget, QListWidgetItem, QMenu, QVBoxLayout, QWidget

from app.gui.look.swatch import swatch
from app.gui.look.theme import Theme
from app.gui.plots.behind import grey
from app.plot_data.series import Baseline

_KEY = Qt.ItemDataRole.UserRole
_MOST_ROWS = 4
"""More of them are scrolled to: the room is the series'."""


class BaselineList(QWidget):
    """`renamed` tells the key of a baseline and what was typed for its name."""

    renamed = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._baselines: tuple[Baseline, ...] = ()
        self._theme: Theme | None = None
        self.actions_of_rows: list[QAction] = []
        self.rows = QListWidget()
        self.rows.setObjectName("baselines")
        self.rows.setAccessibleName("Baselines")
        self.rows.setToolTip("What the series are held against. F2 or a double click renames one.")
        self.rows.setUniformItemSizes(True)
        self.rows.setTextElideMode(Qt.TextElideMode.ElideLeft)
        self.rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows.setEditTriggers(
            QListWidget.EditTrigger.DoubleClicked | QListWidget.EditTrigger.EditKeyPressed
        )
        self.rows.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.rows.customContextMenuRequested.connect(self._context_menu)
        self.rows.itemChanged.connect(self._changed)
        heading = QLabel("&Baselines, in grey")
        heading.setProperty("muted", True)
        heading.setBuddy(self.rows)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(heading)
        column.addWidget(self.rows)

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        """Those that are listed, from top to bottom."""
        return self._baselines

    def show_baselines(self, baselines: Sequence[Baseline], theme: Theme) -> None:
        """List these; the current row stays so, and so does what is being typed for one's name."""
        before = [one.key for one in self._baselines], self._theme
        self._baselines, self._theme = tuple(baselines), theme
        self.rows.blockSignals(True)
        if before != ([one.key for one in baselines], theme):
            self._fill()
        self._name_all()
        self.rows.blockSignals(False)

    def rename(self, key: str = "") -> None:
        """Have a name typed anew: of this one, else of the current one, else of the last."""
        place = next((k for k, one in enumerate(self._baselines) if one.key == key), None)
        current = self.rows.currentRow() if self.rows.currentRow() >= 0 else self.rows.count() - 1
        item = self.rows.item(current if place is None else place)
        if item is not None:
            self.rows.setCurrentItem(item)
            self.rows.setFocus()
            self.rows.editItem(item)

    def _fill(self) -> None:
        assert self._theme is not None
        current = self.rows.currentItem().data(_KEY) if self.rows.currentItem() else ""
        self.rows.clear()
        for place, one in enumerate(self._baselines):
            color = grey(place, len(self._baselines), self._theme)
            item = QListWidgetItem(swatch(color, QColor(self._theme.base)), one.name)
            item.setData(_KEY, one.key)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self.rows.addItem(item)
            if one.key == current:
                self.rows.setCurrentItem(item)
        rows = min(_MOST_ROWS, self.rows.count())
        self.rows.setFixedHeight(rows * self.rows.sizeHintForRow(0) + 2 * self.rows.frameWidth())

    def _name_all(self) -> None:
        """A text that is the same already is left alone: what is being typed would be lost."""
        for row, one in enumerate(self._baselines):
            item = self.rows.item(row)
            if item.text() != one.name:
                item.setText(one.name)
            item.setToolTip(one.name)

    def _changed(self, item: QListWidgetItem) -> None:
        """The name that was there stands until the new one is taken."""
        key, typed = item.data(_KEY), item.text()
        self.rows.blockSignals(True)
        self._name_all()
        self.rows.blockSignals(False)
        self.renamed.emit(key, typed)

    def _context_menu(self, at: QPoint) -> None:
        """Of the row below the pointer, or of the current one where a key asks for it."""
        if self.rows.itemAt(at) is not None:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addActions(self.actions_of_rows)
            menu.popup(self.rows.viewport().mapToGlobal(at))
