"""Rows of the case tree: a check mark for visible, a swatch, a name, p50, p99 and its certainty.

Rows of several models stand below their model, whose own row selects all of them. Everything that
the mouse does there a key does too: Space hides,
and the current row is the one that is lit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QTreeWidget,
    QTreeWidgetItem,
)

from app.gui.look.controls import children
from app.gui.look.text import plain_tip, shorter
from app.gui.look.theme import Theme, swatch
from app.gui.plots.style import SeriesStyle

NAME, P50, P99, SURE = range(4)
_LEAST_LINES = 20
"""Its width in heights of a line of text, below which four columns are too many."""
_KEY = Qt.ItemDataRole.UserRole
_BESIDE_NAME_PX, _BETWEEN_ROWS_PX = 56, 6
"""What check mark, swatch and margins take of the column, and what is left free between rows."""
_HIGHEST_PX = 10_000
_LINES, _CUT = 1.8, "…"
"""A name that is cut in one line has so many lines' room in two, as words don't fill them."""
Index = QModelIndex | QPersistentModelIndex
_CHECK_ON, _CHECK_OFF = Qt.CheckState.Checked, Qt.CheckState.Unchecked
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Line:
    """One case as it is listed; `remark` says why it is not to be taken as others are, `whole`
    is its full name, `sure` how wide the interval of its p50 is, `group` its model."""

    key: str
    name: str
    remark: str
    p50: str
    p99: str
    whole: str
    style: SeriesStyle
    shown: bool
    sure: str = ""
    group: str = ""

    @property
    def text(self) -> str:
        return f"{self.name} ({self.remark})" if self.remark else self.name

    @property
    def spoken(self) -> str:
        figures = [f"p50 {self.p50}" if self.p50 else "", f"p99 {self.p99}" if self.p99 else ""]
        return ", ".join(filter(None, (self.whole, *figures, "" if self.shown else "hidden")))


class CaseRows(QTreeWidget):
    """`checked` tells a key and whether it is shown now, `pointed` the one that is pointed at
    ("" for none), `selected` those of the selected rows."""

    checked = Signal(str, bool)
    pointed = Signal(str)
    selected = Signal(list)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("series")
        self.setAccessibleName("Cases")
        self.setToolTip(
            "A click selects a case, which every view then shows; Space or a click on the check "
            "mark hides it."
        )
        self.setHeaderLabels(["Case", "p50", "p99", "±"])
        self.headerItem().setToolTip(SURE, "How wide the 95 % interval of the p50 is.")
        self.setRootIsDecorated(False)
        self.setIndentation(10)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setWordWrap(True)
        self.setMouseTracking(True)
        self.setTextElideMode(Qt.TextElideMode.ElideLeft)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for column in (P50, P99, SURE):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
            self.headerItem().setTextAlignment(column, _RIGHT)
        # Later: rows that are being taken away, or put there, resize it too.
        self._wrap_later = QTimer(self, singleShot=True, interval=0)
        self._wrap_later.timeout.connect(self._wrap)
        header.sectionResized.connect(self._on_resize)
        self._lines: tuple[Line, ...] = ()
        self._theme: Theme | None = None
        self._by_key: dict[str, QTreeWidgetItem] = {}
        self._filter: frozenset[str] | None = None
        self._quiet = False
        self.itemSelectionChanged.connect(self._selection_changed)
        self.itemClicked.connect(self._on_click)
        self.itemChanged.connect(self._on_item_change)
        self.itemEntered.connect(lambda item, _column: self.pointed.emit(_key_of(item)))

    def show_lines(self, lines: Sequence[Line], theme: Theme) -> None:
        """List these; rows that stay keep their place, and so does the current one."""
        if (tuple(lines), theme) == (self._lines, self._theme):
            return
        lines_before = {line.key: line for line in self._lines} if theme == self._theme else {}
        self.blockSignals(True)
        if _structure(lines) != _structure(self._lines):
            self._rebuild(lines)
            lines_before = {}
        changed_lines = [line for line in lines if lines_before.get(line.key) != line]
        for line in changed_lines:
            self._fill(self._by_key[line.key], line, theme)
        self._lines, self._theme = tuple(lines), theme
        self.blockSignals(False)
        if changed_lines:
            self._wrap()

    def _rebuild(self, lines: Sequence[Line]) -> None:
        """Other rows, or the same in another order; what was selected stays so."""
        current, selection = self.current_key(), set(self.selected_keys())
        self._quiet = True
        self.clear()
        self._by_key = {line.key: self._item(line.key) for line in lines}
        groups = list(dict.fromkeys(line.group for line in lines))
        if len(groups) < 2:
            self.addTopLevelItems(list(self._by_key.values()))
        else:
            for group in groups:
                item = self._group_item(group)
                self.addTopLevelItem(item)
                group_items = [self._by_key[line.key] for line in lines if line.group == group]
                item.addChildren(group_items)
                item.setExpanded(True)
                item.setFirstColumnSpanned(True)
        for key in selection & self._by_key.keys():
            self._by_key[key].setSelected(True)
        self._go_to(current)
        self._apply_filter()
        self._quiet = False

    def set_filter(self, keys: frozenset[str] | None) -> None:
        """Show the rows of these alone; None for all."""
        self._filter = keys
        self._apply_filter()

    def _apply_filter(self) -> None:
        for key, item in self._by_key.items():
            item.setHidden(self._filter is not None and key not in self._filter)
        for place in range(self.topLevelItemCount()):
            group = self.topLevelItem(place)
            if group is not None and group.childCount():
                group.setHidden(all(child.isHidden() for child in children(group)))

    def selected_keys(self) -> list[str]:
        """Those of the selected rows, from top to bottom."""
        return [key for key, item in self._by_key.items() if item.isSelected()]

    def select(self, keys: Sequence[str]) -> None:
        """Select the rows of these cases without telling of it."""
        selection = set(keys)
        if selection == set(self.selected_keys()):
            return
        self._quiet = True
        for key, item in self._by_key.items():
            item.setSelected(key in selection)
        self._quiet = False
        first = next((item for key, item in self._by_key.items() if key in selection), None)
        if first is not None:
            self.scrollToItem(first)

    def _selection_changed(self) -> None:
        if not self._quiet:
            self.selected.emit(self.selected_keys())

    def _on_click(self, item: QTreeWidgetItem, _column: int) -> None:
        """A model's row selects its cases."""
        keys = [_key_of(child) for child in children(item) if not child.isHidden()]
        if keys:
            self.select(keys)
            self.selected.emit(keys)

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def current_key(self) -> str:
        """The key of the row that the keyboard is at, "" for none."""
        item = self.currentItem()
        return "" if item is None else _key_of(item)

    def _group_item(self, name: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem([name])
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        font = item.font(NAME)
        font.setBold(True)
        item.setFont(NAME, font)
        item.setToolTip(NAME, plain_tip(f"{name}: a click selects all of its cases"))
        return item

    @staticmethod
    def _item(key: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem()
        item.setData(NAME, _KEY, key)
        item.setFlags(
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsUserCheckable
        )
        for column in (P50, P99, SURE):
            item.setTextAlignment(column, _RIGHT)
        return item

    @staticmethod
    def _fill(item: QTreeWidgetItem, line: Line, theme: Theme) -> None:
        style = line.style
        picture = swatch(style.color, QColor(theme.base), style.fill().style())
        item.setIcon(NAME, picture)
        for column, text in ((P50, line.p50), (P99, line.p99), (SURE, line.sure)):
            item.setText(column, text)
        for column in (NAME, P50, P99, SURE):
            item.setToolTip(column, plain_tip(line.whole))
        item.setCheckState(NAME, _CHECK_ON if line.shown else _CHECK_OFF)
        item.setData(NAME, Qt.ItemDataRole.AccessibleTextRole, line.spoken)

    def _on_resize(self, column: int, *_: int) -> None:
        if column == NAME:
            self._wrap_later.start()

    def _wrap(self) -> None:
        """Names made shorter together: in a line where that leaves whole words, else in two."""
        room = QRect(0, 0, max(1, self.columnWidth(NAME) - _BESIDE_NAME_PX), _HIGHEST_PX)
        metrics, wrap = self.fontMetrics(), Qt.TextFlag.TextWordWrap
        names = [line.text for line in self._lines]
        brief = shorter(names, room.width(), metrics.horizontalAdvance)
        if any(_CUT in text for text in brief):
            brief = shorter(names, _LINES * room.width(), metrics.horizontalAdvance)
        self.blockSignals(True)
        for item, text in zip((self._by_key[line.key] for line in self._lines), brief, strict=True):
            if item.text(NAME) != text:
                item.setText(NAME, text)
            high = metrics.boundingRect(room, wrap, item.text(NAME)).height() + _BETWEEN_ROWS_PX
            if item.sizeHint(NAME).height() != high:
                item.setSizeHint(NAME, QSize(0, high))
        self.blockSignals(False)

    def _on_item_change(self, item: QTreeWidgetItem, column: int) -> None:
        if column == NAME and _key_of(item):
            is_shown = item.checkState(NAME) == Qt.CheckState.Checked
            self.checked.emit(_key_of(item), is_shown)

    def _go_to(self, key: str) -> None:
        if key in self._by_key:
            self.setCurrentItem(self._by_key[key], NAME, QItemSelectionModel.SelectionFlag.NoUpdate)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Where it is narrow names have the room of the certainty; p50 and p99 are always seen."""
        super().resizeEvent(event)
        self.setColumnHidden(SURE, self.width() < _LEAST_LINES * self.fontMetrics().height())

    def currentChanged(self, current: Index, previous: Index) -> None:  # noqa: N802
        super().currentChanged(current, previous)
        if self.hasFocus():
            self.pointed.emit(self.current_key())

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        self.pointed.emit("")

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        position = event.position().toPoint()
        item = self.itemAt(position)
        if item is not None and _key_of(item):
            mark = self.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth)
            offset_px = position.x() - self.visualItemRect(item).left()
            if 0 <= offset_px <= mark + _BETWEEN_ROWS_PX:  # it is looked at, and no other selected
                is_shown = item.checkState(NAME) == Qt.CheckState.Checked
                item.setCheckState(NAME, _CHECK_OFF if is_shown else _CHECK_ON)
                return
        super().mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        super().leaveEvent(event)
        self.pointed.emit("")


def _key_of(item: QTreeWidgetItem) -> str:
    """The key of a case's row; "" of a model's."""
    return str(item.data(NAME, _KEY) or "")


def _structure(lines: Sequence[Line]) -> list[tuple[str, str]]:
    return [(line.group, line.key) for line in lines]
