"""The rows of the series list: a check mark for shown, a swatch, a name, p50 and p99.

Everything that the mouse does there a key does too: Space hides, Alt+Space or Alt+Return shows one
alone, Alt+Up and Alt+Down move it, and the current row is the one that is lit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
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
    QDropEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from app.gui.look.swatch import swatch
from app.gui.look.theme import Theme
from app.gui.look.words import plain_tip
from app.gui.plots.style import SeriesStyle

NAME, P50, P99 = range(3)
_LEAST_LINES = 17
"""Its width in heights of a line of text, below which three columns are too many."""
_KEY = Qt.ItemDataRole.UserRole
_BESIDE_NAME_PX, _BETWEEN_ROWS_PX = 56, 6
"""What check mark, swatch and margins take of the column, and what is left free between rows."""
_HIGHEST_PX = 10_000
Index = QModelIndex | QPersistentModelIndex
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Line:
    """One series as it is listed; `remark` says why it is not to be taken as others are, `whole`
    is its full name."""

    key: str
    name: str
    remark: str
    p50: str
    p99: str
    whole: str
    style: SeriesStyle
    shown: bool

    @property
    def text(self) -> str:
        return f"{self.name} ({self.remark})" if self.remark else self.name

    @property
    def spoken(self) -> str:
        figures = [f"p50 {self.p50}" if self.p50 else "", f"p99 {self.p99}" if self.p99 else ""]
        return ", ".join(filter(None, (self.whole, *figures, "" if self.shown else "hidden")))


class SeriesRows(QTreeWidget):
    """`checked` tells a key and whether it is shown now, `soloed` the one to be shown alone or no
    longer, `pointed` the one that is pointed at ("" for none), `ordered` all keys as they stand."""

    checked = Signal(str, bool)
    soloed = Signal(str)
    pointed = Signal(str)
    ordered = Signal(tuple)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("series")
        self.setAccessibleName("Series list")
        self.setToolTip(
            "Space or a click on the check mark hides a series, Alt+click shows it alone; "
            "drag it, or move it with Alt+Up and Alt+Down."
        )
        self.setHeaderLabels(["Series", "p50", "p99"])
        self.setRootIsDecorated(False)
        self.setWordWrap(True)
        self.setMouseTracking(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setTextElideMode(Qt.TextElideMode.ElideLeft)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for column in (P50, P99):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
            self.headerItem().setTextAlignment(column, _RIGHT)
        # Later: rows that are being taken away, or put there, resize it too.
        self._wrap_later = QTimer(self, singleShot=True, interval=0)
        self._wrap_later.timeout.connect(self._wrap)
        header.sectionResized.connect(self._resized)
        self._lines: tuple[Line, ...] = ()
        self._theme: Theme | None = None
        self.itemChanged.connect(self._changed)
        self.itemEntered.connect(lambda item, _column: self.pointed.emit(item.data(NAME, _KEY)))

    def show_lines(self, lines: Sequence[Line], theme: Theme) -> None:
        """List these; rows that stay keep their place, and so does the current one."""
        if (tuple(lines), theme) == (self._lines, self._theme):
            return
        self.blockSignals(True)
        if [line.key for line in lines] != [line.key for line in self._lines]:
            current = self.current_key()
            self.clear()
            for line in lines:
                self.addTopLevelItem(self._item(line.key))
            self._go_to(current)
        for item, line in zip(self._items(), lines, strict=True):
            self._fill(item, line, theme)
        self._lines, self._theme = tuple(lines), theme
        self.blockSignals(False)
        self._wrap()

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def current_key(self) -> str:
        """The key of the row that the keyboard is at, "" for none."""
        item = self.currentItem()
        return "" if item is None else str(item.data(NAME, _KEY))

    def _items(self) -> list[QTreeWidgetItem]:
        """Those of all rows, from top to bottom."""
        found = (self.topLevelItem(row) for row in range(self.topLevelItemCount()))
        return [item for item in found if item is not None]

    @staticmethod
    def _item(key: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem()
        item.setData(NAME, _KEY, key)
        item.setFlags(
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsUserCheckable
            | Qt.ItemFlag.ItemIsDragEnabled
        )
        for column in (P50, P99):
            item.setTextAlignment(column, _RIGHT)
        return item

    @staticmethod
    def _fill(item: QTreeWidgetItem, line: Line, theme: Theme) -> None:
        style = line.style
        picture = swatch(style.color, QColor(theme.base), style.fill().style())
        item.setIcon(NAME, picture)
        for column, text in ((NAME, line.text), (P50, line.p50), (P99, line.p99)):
            item.setText(column, text)
            item.setToolTip(column, plain_tip(line.whole))
        item.setCheckState(NAME, Qt.CheckState.Checked if line.shown else Qt.CheckState.Unchecked)
        item.setData(NAME, Qt.ItemDataRole.AccessibleTextRole, line.spoken)

    def _resized(self, column: int, *_: int) -> None:
        if column == NAME:
            self._wrap_later.start()

    def _wrap(self) -> None:
        """As many lines for each name as it takes: names of many settings would be cut alike."""
        room = QRect(0, 0, max(1, self.columnWidth(NAME) - _BESIDE_NAME_PX), _HIGHEST_PX)
        metrics, wrap = self.fontMetrics(), Qt.TextFlag.TextWordWrap
        self.blockSignals(True)
        for item in self._items():
            high = metrics.boundingRect(room, wrap, item.text(NAME)).height() + _BETWEEN_ROWS_PX
            if item.sizeHint(NAME).height() != high:
                item.setSizeHint(NAME, QSize(0, high))
        self.blockSignals(False)

    def _changed(self, item: QTreeWidgetItem, column: int) -> None:
        if column == NAME:
            shown = item.checkState(NAME) == Qt.CheckState.Checked
            self.checked.emit(item.data(NAME, _KEY), shown)

    def _go_to(self, key: str) -> None:
        for item in self._items():
            if item.data(NAME, _KEY) == key:
                self.setCurrentItem(item)

    def _move_current(self, step: int) -> None:
        keys = [line.key for line in self._lines]
        if self.current_key() in keys:
            self._put_current(max(0, keys.index(self.current_key()) + step))

    def _put_current(self, place: int) -> None:
        keys = [line.key for line in self._lines if line.key != self.current_key()]
        keys.insert(place, self.current_key())
        self.ordered.emit(tuple(keys))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Where it is narrow names have the room of the p99, which is spoken all the same."""
        super().resizeEvent(event)
        self.setColumnHidden(P99, self.width() < _LEAST_LINES * self.fontMetrics().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.modifiers() & Qt.KeyboardModifier.AltModifier:
            steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
            if event.key() in steps:
                self._move_current(steps[Qt.Key(event.key())])
                return
            if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return) and self.current_key():
                self.soloed.emit(self.current_key())
                return
        super().keyPressEvent(event)

    def currentChanged(self, current: Index, previous: Index) -> None:  # noqa: N802
        super().currentChanged(current, previous)
        if self.hasFocus():
            self.pointed.emit(self.current_key())

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        self.pointed.emit("")

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        item = self.itemAt(event.position().toPoint())
        if item is not None and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.soloed.emit(item.data(NAME, _KEY))
            return
        super().mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        super().leaveEvent(event)
        self.pointed.emit("")

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        others = [item for item in self._items() if item is not self.currentItem()]
        at = event.position().y()
        self._put_current(sum(self.visualItemRect(item).center().y() < at for item in others))
        event.setDropAction(Qt.DropAction.CopyAction)  # of a move Qt would remove the row itself
        event.accept()
        self.setState(QAbstractItemView.State.NoState)
        self.viewport().update()
