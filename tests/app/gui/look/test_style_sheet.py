"""A change of the theme dresses each widget as often, however deep it stands."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.style_sheet import apply_theme


class _Label(QLabel):
    """Counts how often it is dressed."""

    count = 0

    def event(self, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.StyleChange
        return super().event(event)


def test_a_deep_widget_is_dressed_as_often_as_a_shallow_one(qtbot: QtBot) -> None:
    apply_theme("light")
    outer = holder = QWidget()
    qtbot.addWidget(outer)
    labels = []
    for _ in range(8):
        column = QVBoxLayout(holder)
        labels.append(_Label("text"))
        holder = QWidget()
        column.addWidget(labels[-1])
        column.addWidget(holder)
    outer.show()
    for label in labels:
        label.count = 0
    apply_theme("dark")
    assert labels[0].count > 0
    assert {label.count for label in labels} == {labels[0].count}
