"""A layout that puts widgets side by side and breaks the row where the width ends."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

_GAP = 8


class FlowLayout(QLayout):
    """Items in reading order, each at its size hint."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:  # noqa: N802 - Qt's name
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # noqa: N802
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # noqa: N802
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:  # noqa: N802
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:  # noqa: N802
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        return self._arrange(QRect(0, 0, width, 0), place=False)

    def setGeometry(self, area: QRect) -> None:  # noqa: N802
        super().setGeometry(area)
        self._arrange(area, place=True)

    def sizeHint(self) -> QSize:  # noqa: N802
        return self.minimumSize()

    def minimumSize(self) -> QSize:  # noqa: N802
        size = QSize()
        for item in self._items:
            if not item.isEmpty():
                size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, area: QRect, place: bool) -> int:
        """Place the items that are shown if asked to; returns the height that they take."""
        shown = [item for item in self._items if not item.isEmpty()]
        row_height = max((item.sizeHint().height() for item in shown), default=0)
        x, y = area.x(), area.y()
        for item in shown:
            hint = item.sizeHint()
            if x + hint.width() > area.right() + 1 and x > area.x():
                x, y = area.x(), y + row_height + 2
            if place:
                middle = y + (row_height - hint.height()) // 2
                item.setGeometry(QRect(QPoint(x, middle), hint))
            x += hint.width() + _GAP
        return y + row_height - area.y()
