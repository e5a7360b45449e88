"""What of a window is cut off: controls that are smaller than they need, or stand over an edge."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTabBar,
    QWidget,
)

CONTROLS = (QAbstractButton, QComboBox, QLineEdit, QLabel)
_SLACK_PX = 1


def cut_off(window: QWidget) -> list[str]:
    """The controls that are seen but not whole, each with why."""
    return [
        f"{_describe(control)}: {why}"
        for control in _find_controls(window)
        if (why := _why(control))
    ]


def _find_controls(window: QWidget) -> Iterator[QWidget]:
    for kind in CONTROLS:
        for control in window.findChildren(kind):
            qt_own = isinstance(control.parentWidget(), QTabBar)  # arrows that scroll tabs
            if control.isVisible() and not control.visibleRegion().isEmpty() and not qt_own:
                yield control


def _why(control: QWidget) -> str:
    minimum_size = control.minimumSizeHint()
    if isinstance(control, QLabel) and control.wordWrap():
        minimum_size.setHeight(control.heightForWidth(control.width()))
    is_elided = isinstance(control, QLabel) and control.sizePolicy().horizontalPolicy().name in (
        "Ignored",
        "Expanding",
    )
    if control.width() + _SLACK_PX < minimum_size.width() and not is_elided:
        return f"{control.width()} px wide, needs {minimum_size.width()}"
    if control.height() + _SLACK_PX < minimum_size.height():
        return f"{control.height()} px high, needs {minimum_size.height()}"
    return _over_an_edge(control)


def _over_an_edge(control: QWidget) -> str:
    """Whether some part of it lies outside what holds it; areas may be scrolled up and down."""
    holder = control.parentWidget()
    while holder is not None:
        place = QRect(control.mapTo(holder, QPoint(0, 0)), control.size())
        area = holder.parentWidget()
        is_scrolled = isinstance(area, QScrollArea) and area.viewport() is holder
        room = holder.rect().adjusted(-_SLACK_PX, -_SLACK_PX, _SLACK_PX, _SLACK_PX)
        if place.left() < room.left() or place.right() > room.right():
            return f"over the side of {_describe(holder)}"
        if not is_scrolled and (place.top() < room.top() or place.bottom() > room.bottom()):
            return f"over the edge of {_describe(holder)}"
        if isinstance(area, QAbstractScrollArea) or holder.isWindow():
            return "" if holder.isWindow() or area is None else _over_an_edge(area)
        holder = holder.parentWidget()
    return ""


def _describe(widget: QWidget) -> str:
    text = getattr(widget, "text", None)
    words = text() if callable(text) else ""
    return f"{type(widget).__name__} {widget.accessibleName() or words or widget.objectName()!r}"
