"""Choosing runtimes: every one that is known, with its devices, and why some can't be used.

One that is not available is listed in a closed group with its reason and can still be chosen, since
a plan may be written here and run elsewhere; its cases then end as `unavailable` rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import (
    QHeaderView,
    QLineEdit,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.terms import TERMS
from app.gui.look.text import PlainLabel, plain_tip
from app.machine import installed_runtimes
from runtimes import registry
from runtimes.base import Availability, Available, Device
from runtimes.registry import parse_spec

_SPEC = Qt.ItemDataRole.UserRole
_BORDERS_PX = 4
_CHECK_ON, _CHECK_OFF = Qt.CheckState.Checked, Qt.CheckState.Unchecked


@dataclass(frozen=True, slots=True)
class RuntimeFacts:
    """What the list shows of one runtime."""

    name: str
    summary: str
    availability: Availability
    devices: tuple[Device, ...]


def runtime_facts(name: str) -> RuntimeFacts:
    """Ask one runtime; no engine is imported for it."""
    runtime = installed_runtimes.runtime(name)
    return RuntimeFacts(
        name, runtime.summary, installed_runtimes.availability(name), runtime.devices()
    )


class _Tree(QTreeWidget):
    """Qt forgets the border that our style gives to check boxes, and would cut the longest name."""

    def sizeHintForColumn(self, column: int) -> int:  # noqa: N802
        return super().sizeHintForColumn(column) + _BORDERS_PX


class RuntimePicker(QWidget):
    """A tree of runtimes with their devices; none checked means all that are available."""

    edited = Signal(tuple)
    problem = ""

    def __init__(self) -> None:
        super().__init__()
        self.tree = _Tree()
        self.tree.setHeaderHidden(True)
        self.tree.setColumnCount(2)
        self.tree.setAccessibleName("runtimes")
        self.tree.setUniformRowHeights(True)
        self.tree.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.tree)
        self.another = QLineEdit(placeholderText="another, such as ort-cpu@ort127, then Enter")
        self.another.setAccessibleName("another runtime")
        self.another.setToolTip(TERMS["environments"])
        self.another.returnPressed.connect(self._add)
        layout.addWidget(self.another)
        self.default = PlainLabel(wrap=True)
        self.default.setProperty("muted", True)
        self.default.setAccessibleName("runtimes that are measured")
        layout.addWidget(self.default)
        self._items: dict[str, QTreeWidgetItem] = {}
        self._selection: tuple[str, ...] = ()
        self._absent: QTreeWidgetItem | None = None
        self.show_defaults(())
        for name in registry.names():
            self._items[name] = self._item(self.tree, name)
        self.tree.itemChanged.connect(self._on_item_change)
        self.tree.itemExpanded.connect(self._fit_height)
        self.tree.itemCollapsed.connect(self._fit_height)

    def _item(self, parent: QTreeWidget | QTreeWidgetItem, spec: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem(parent, [spec, ""])
        item.setData(0, _SPEC, spec)
        item.setCheckState(0, _CHECK_OFF)
        return item

    def show_facts(self, facts: RuntimeFacts) -> None:
        """Fill in what a runtime told: version, devices, or the reason it can't be used."""
        item = self._items[facts.name]
        with QSignalBlocker(self.tree):
            if isinstance(facts.availability, Available):
                item.setText(1, facts.availability.version)
                tooltip = f"{facts.summary}, version {facts.availability.version}"
            else:
                item.setText(1, facts.availability.reason)
                tooltip = (
                    f"{facts.summary}\nNot available: {facts.availability.reason}\n"
                    f"Remedy: {facts.availability.remedy}"
                )
                brush = QBrush(self.palette().placeholderText().color())
                for column in (0, 1):
                    item.setForeground(column, brush)
                self._put_away(item)
            for column in (0, 1):
                item.setToolTip(column, plain_tip(tooltip))
            for device in facts.devices:
                spec = f"{facts.name}:{device.key}"
                if spec not in self._items:
                    self._items[spec] = self._item(item, spec)
                self._items[spec].setText(1, device.name)
            item.setExpanded(True)
        self.show_value(self._selection)

    def _put_away(self, item: QTreeWidgetItem) -> None:
        """Move a runtime that can't be used here below the others, into a closed group."""
        if self._absent is None:
            self._absent = QTreeWidgetItem(self.tree, ["Not installed here", ""])
            self._absent.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        place = self.tree.indexOfTopLevelItem(item)
        removed_item = self.tree.takeTopLevelItem(place) if place >= 0 else None
        if removed_item is not None:
            self._absent.addChild(removed_item)

    def _fit_height(self) -> None:
        """As high as the rows that are seen, so that the form scrolls and not the list."""
        rows, item = 0, self.tree.topLevelItem(0)
        while item is not None:
            rows, item = rows + 1, self.tree.itemBelow(item)
        rows = max(1, rows)
        self.tree.setFixedHeight(
            rows * self.tree.sizeHintForRow(0) + 2 * self.tree.frameWidth() + 4
        )

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Other letters, or another style, make rows of another height."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.FontChange):
            self._fit_height()

    def show_value(self, runtimes: Iterable[str]) -> None:
        self._selection = tuple(runtimes)
        with QSignalBlocker(self.tree):
            for spec in self._selection:
                if spec not in self._items:
                    parent = self._items.get(parse_spec(spec).name, self.tree)
                    self._items[spec] = self._item(parent, spec)
            for spec, item in self._items.items():
                item.setCheckState(0, _CHECK_ON if spec in self._selection else _CHECK_OFF)
                if spec in self._selection:
                    for group in filter(None, (item.parent(),)):
                        group.setExpanded(True)
        self.default.setVisible(not self._selection)
        self._fit_height()

    def show_defaults(self, engines: Iterable[str]) -> None:
        """Name those that are measured where none is chosen; none of them for want of a model."""
        names = ", ".join(engines) or "those that open the models"
        self.default.setText(f"None chosen: the installed engines are measured ({names}).")

    def _add(self) -> None:
        """What was typed is chosen too; whether there is such a runtime, the plan tells."""
        names = filter(None, (word.strip() for word in self.another.text().split(",")))
        self.another.clear()
        self.edited.emit(tuple(dict.fromkeys((*self._selection, *names))))

    def _on_item_change(self, item: QTreeWidgetItem, column: int) -> None:
        if column:
            return
        checked_specs = tuple(s for s, i in self._items.items() if i.checkState(0) == _CHECK_ON)
        if set(checked_specs) != set(self._selection):
            self.edited.emit(checked_specs)
