"""Controls in one line: those that have no room are behind a button at its end."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

_SPACING_PX = 6


class ControlBar(QWidget):
    """Takes the room that it is given; a control that its owner hides stays hidden."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._controls: list[QWidget] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(_SPACING_PX)
        self._row.addStretch(1)
        self.more = QToolButton()
        self.more.setText("More…")
        self.more.setAccessibleName(f"{name}: more options")
        self.more.setToolTip("Shows the options of this view that have no room here.")
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

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.updateGeometry()
            self._later.start()
        return super().eventFilter(watched, event)

    def fit(self) -> None:
        """Put as many into the line as have room, the first ones first."""
        room, offered = self.width(), self._offered()
        widths = [_width(control) + _SPACING_PX for control in offered]
        fitting = len(offered)
        if sum(widths) > room:
            room -= self.more.sizeHint().width()
            while fitting and sum(widths[:fitting]) > room:
                fitting -= 1
        for number, control in enumerate(offered):
            self._move(control, number < fitting)
        self.more.setVisible(fitting < len(offered))
        if self.more.isHidden():
            self.panel.hide()

    def _offered(self) -> list[QWidget]:
        return [control for control in self._controls if not control.isHidden()]

    def _move(self, control: QWidget, in_line: bool) -> None:
        home = self if in_line else self.panel
        if control.parentWidget() is home:
            return
        if in_line:
            before = [one for one in self._controls if one.parentWidget() is self]
            place = sum(self._controls.index(one) < self._controls.index(control) for one in before)
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
        first = next((one for one in self._controls if one.parentWidget() is self.panel), None)
        if first is not None:
            first.setFocus()


def _width(control: QWidget) -> int:
    return max(control.sizeHint().width(), control.minimumWidth())
