"""Controls of views in rows: choices, a bar that folds, a layout that wraps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

BoxT = TypeVar("BoxT", bound=QBoxLayout)
WidgetT = TypeVar("WidgetT", bound=QWidget)


class Choice(QComboBox):
    """One of several keys, each shown by its text."""

    def __init__(self, name: str, texts: Mapping[str, str], hint: str) -> None:
        super().__init__()
        named(self, name, hint)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.set_texts(texts)

    @property
    def value(self) -> str:
        return self.currentData() or ""

    def choose(self, key: str) -> None:
        self.setCurrentIndex(self.findData(key))

    def set_texts(self, texts: Mapping[str, str]) -> None:
        """Offer these; what was chosen stays chosen if it is still there."""
        if [self.itemData(k) for k in range(self.count())] == list(texts):
            return
        current_value = self.value
        self.blockSignals(True)
        self.clear()
        for key, text in texts.items():
            self.addItem(text, key)
        self.setCurrentIndex(max(0, self.findData(current_value)))
        self.blockSignals(False)


class Switch(QCheckBox):
    """Something that is shown or done, or is not."""

    def __init__(self, name: str, hint: str, *, on: bool = True) -> None:
        super().__init__(name)
        named(self, name, hint).setChecked(on)


def tool_button(text: str, name: str, tip: str) -> QToolButton:
    """`name` is what a screen reader calls it."""
    button = named(QToolButton(), name, tip)
    button.setText(text)
    return button


def lay(
    layout: BoxT,
    *parts: QWidget | QLayout | tuple[QWidget | QLayout, int] | int,
    margins: tuple[int, int, int, int] | None = (0, 0, 0, 0),
    spacing: int | None = None,
) -> BoxT:
    """Put the parts into the layout, each with its stretch in a pair; a number is a stretch of its
    own. Without `margins`, or `spacing`, the style's."""
    if margins is not None:
        layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    for part in parts:
        item, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(item, QWidget):
            layout.addWidget(item, stretch)
        elif isinstance(item, QLayout):
            layout.addLayout(item, stretch)
        else:
            layout.addStretch(item)
    return layout


def named(widget: WidgetT, name: str = "", tip: str = "", **properties: object) -> WidgetT:
    """The widget with what a screen reader calls it, its tool tip, and what style sheets ask of."""
    if name:
        widget.setAccessibleName(name)
    if tip:
        widget.setToolTip(tip)
    for key, value in properties.items():
        widget.setProperty(key, value)
    return widget


def restyle(widget: QWidget, **properties: object) -> None:
    """Give it these properties, and dress it anew where one is another."""
    if any(widget.property(key) != value for key, value in properties.items()):
        for key, value in properties.items():
            widget.setProperty(key, value)
        widget.style().polish(widget)


def scroll_area(name: str, content: QWidget) -> QScrollArea:
    """A frameless area as wide as its content, which it scrolls up and down."""
    area = named(QScrollArea(widgetResizable=True), name)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(content)
    return area


def heading(text: str) -> QLabel:
    """The title of a part of a page."""
    return named(QLabel(text), textSize="heading")


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """The rows below a row of a tree."""
    return [child for k in range(item.childCount()) if (child := item.child(k)) is not None]


_SPACING_PX = 6


class ControlBar(QWidget):
    """Takes the room that it is given; a control that its owner hides stays hidden."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._controls: list[QWidget] = []
        self._row = lay(QHBoxLayout(self), 1, spacing=_SPACING_PX)
        self.more = tool_button(
            "More…",
            f"{name}: more options",
            "Shows the options of this view that have no room here.",
        )
        self.more.clicked.connect(self._open)
        self._row.addWidget(self.more)
        self.panel = QFrame(self, Qt.WindowType.Popup)
        self.panel.setFrameShape(QFrame.Shape.StyledPanel)
        self._column = QVBoxLayout(self.panel)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self.fit)
        self.more.hide()

    def add(self, control: QWidget) -> None:
        self._controls.append(control)
        self._row.insertWidget(len(self._controls), control)
        control.installEventFilter(self)
        self._later.start()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """All of them in one line."""
        hints = [control.sizeHint() for control in self._offered()]
        wide = sum(_width(control) + _SPACING_PX for control in self._offered())
        high = max(hint.height() for hint in (*hints, self.more.sizeHint()))
        return QSize(wide, high)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(self.more.sizeHint().width(), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self.fit()

    def eventFilter(self, target: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.updateGeometry()
            self._later.start()
        return super().eventFilter(target, event)

    def fit(self) -> None:
        """Put as many into the line as have room, the first ones first."""
        room, controls = self.width(), self._offered()
        widths = [_width(control) + _SPACING_PX for control in controls]
        fitting = len(controls)
        if sum(widths) > room:
            room -= self.more.sizeHint().width()
            while fitting and sum(widths[:fitting]) > room:
                fitting -= 1
        for number, control in enumerate(controls):
            self._move(control, number < fitting)
        self.more.setVisible(fitting < len(controls))
        if self.more.isHidden():
            self.panel.hide()

    def _offered(self) -> list[QWidget]:
        return [control for control in self._controls if not control.isHidden()]

    def _move(self, control: QWidget, in_line: bool) -> None:
        home = self if in_line else self.panel
        if control.parentWidget() is home:
            return
        if in_line:
            controls = [sibling for sibling in self._controls if sibling.parentWidget() is self]
            place = sum(self._controls.index(s) < self._controls.index(control) for s in controls)
            self._row.insertWidget(1 + place, control)
        else:
            self._column.addWidget(control)
        control.show()

    def _open(self) -> None:
        corner = self.more.mapToGlobal(QPoint(0, self.more.height()))
        self.panel.adjustSize()
        left = max(0, corner.x() + self.more.width() - self.panel.width())
        self.panel.move(left, corner.y())
        self.panel.show()
        first = next((c for c in self._controls if c.parentWidget() is self.panel), None)
        if first is not None:
            first.setFocus()


def _width(control: QWidget) -> int:
    return max(control.sizeHint().width(), control.minimumWidth())


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
        items = [item for item in self._items if not item.isEmpty()]
        row_height = max((item.sizeHint().height() for item in items), default=0)
        x, y = area.x(), area.y()
        for item in items:
            hint = item.sizeHint()
            if x + hint.width() > area.right() + 1 and x > area.x():
                x, y = area.x(), y + row_height + 2
            if place:
                middle = y + (row_height - hint.height()) // 2
                item.setGeometry(QRect(QPoint(x, middle), hint))
            x += hint.width() + _GAP
        return y + row_height - area.y()
