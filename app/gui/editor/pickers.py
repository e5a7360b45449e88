"""Choosing models, of the catalogue and of files, and runtimes with their devices.

A file that is no model is refused in one sentence. A runtime that is not available is listed in a
closed group with its reason and can still be chosen, since a plan may be written here and run
elsewhere; its cases then end as `unavailable` rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QBrush, QDragEnterEvent, QDragMoveEvent, QDropEvent, QIcon
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.controls import children, lay, named
from app.gui.look.text import TERMS, PlainLabel, plain_tip
from app.gui.look.theme import glyph
from app.machine import installed_runtimes
from exporters.models import catalogue
from exporters.types import FILE_ENDINGS, Definition, GraphlapError
from runtimes import registry
from runtimes.base import Availability, Available, Device
from runtimes.registry import parse_spec

OWN_FILES = "Your files"
_NAME = Qt.ItemDataRole.UserRole
_FAMILY = Qt.ItemDataRole.UserRole + 1


class ModelTree(QTreeWidget):
    """Check boxes below suites; .onnx files can be dropped on it."""

    dropped = Signal(list)

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setAccessibleName("models")
        self.setAcceptDrops(True)
        self.setUniformRowHeights(True)
        self.setMinimumHeight(150)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Models; what else is dropped here is the window's."""
        urls = event.mimeData().urls()
        if urls and all(url.path().lower().endswith(FILE_ENDINGS) for url in urls):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802
        event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        event.acceptProposedAction()
        self.dropped.emit([url.toLocalFile() or url.toString() for url in event.mimeData().urls()])


class ModelPicker(QWidget):
    """Names in catalogue order, then files; `refused` carries the error of a bad file."""

    edited = Signal(tuple)
    refused = Signal(object)
    problem = ""

    def __init__(self) -> None:
        super().__init__()
        self.search = QLineEdit(
            placeholderText="Search models, suites, families", clearButtonEnabled=True
        )
        self.search.setAccessibleName("search models")
        self.tree = ModelTree()
        self.count = named(QLabel(), muted=True)
        self.fault = named(PlainLabel(wrap=True), "models that can't be read", wrong=True)
        self.fault.hide()
        self.assumed = named(PlainLabel(wrap=True), "sizes that were assumed")
        self.assumed.hide()
        tip = "Add .onnx files; they can also be dropped on the list"
        self.add_file = named(QPushButton("Add file…"), tip=tip)
        self.clear = named(QPushButton("Clear"), tip="Take the check marks off all models")
        self._items: dict[str, QTreeWidgetItem] = {}
        self._selection: tuple[str, ...] = ()
        self._faults: Mapping[str, GraphlapError] = {}
        self._fill()
        self._lay_out()
        self.search.textChanged.connect(self._filter)
        self.tree.itemChanged.connect(self._on_item_change)
        self.tree.dropped.connect(self.add_files)
        self.add_file.clicked.connect(self._ask_for_files)
        self.clear.clicked.connect(lambda: self.edited.emit(()))

    def _lay_out(self) -> None:
        footer = lay(QHBoxLayout(), (self.count, 1), self.clear, self.add_file)
        parts = (self.search, (self.tree, 1), self.fault, self.assumed, footer)
        lay(QVBoxLayout(self), *parts, spacing=4)

    def _fill(self) -> None:
        suites = catalogue.by_suite()
        for suite, definitions in suites.items():
            group = QTreeWidgetItem(self.tree, [suite])
            group.setFlags(group.flags() | Qt.ItemFlag.ItemIsAutoTristate)
            for definition in definitions:
                self._add(group, definition.name, definition.name, definition.family)
                self._items[definition.name].setToolTip(0, _tooltip(definition))
            group.setCheckState(0, Qt.CheckState.Unchecked)
        self._file_group = QTreeWidgetItem([OWN_FILES])
        self.tree.insertTopLevelItem(0, self._file_group)
        self._file_group.setHidden(True)

    def _add(self, group: QTreeWidgetItem, name: str, text: str, family: str) -> None:
        item = QTreeWidgetItem(group, [text])
        item.setData(0, _NAME, name)
        item.setData(0, _FAMILY, family)
        item.setCheckState(0, Qt.CheckState.Unchecked)
        self._items[name] = item

    def show_value(self, models: Iterable[str]) -> None:
        """Check exactly these; names that the catalogue does not have are files or globs."""
        self._selection = tuple(models)
        with QSignalBlocker(self.tree):
            for name in self._selection:
                if name not in self._items:
                    self._add(self._file_group, name, Path(name).name, "")
                    self._items[name].setToolTip(0, plain_tip(name))
                    self._file_group.setHidden(False)
                    self._file_group.setExpanded(True)
            for name, item in self._items.items():
                state = _CHECK_ON if name in self._selection else _CHECK_OFF
                if item.checkState(0) != state:
                    item.setCheckState(0, state)
        self._tell_fault()
        selected_count = len(self._selection)
        self.count.setText(f"{selected_count} chosen" if selected_count else "none chosen")
        self.clear.setEnabled(bool(selected_count))

    def add_files(self, paths: Iterable[str]) -> None:
        """Choose the model files among `paths`; the first that is none is refused."""
        texts: list[str] = []
        for path in paths:
            if Path(path).suffix.lower() in FILE_ENDINGS and Path(path).is_file():
                texts.append(path)
            else:
                self.refused.emit(
                    GraphlapError(f"{Path(path).name!r} is no .onnx file", "drop an exported model")
                )
                break
        if texts:
            self.edited.emit(tuple(dict.fromkeys((*self._selection, *texts))))

    def choose(self, name: str) -> None:
        """Check one model and bring it into view; one that is checked stays so."""
        if name not in self._selection:
            self.edited.emit((*self._selection, name))
        item = self._items[name]
        for parent in filter(None, (item.parent(),)):
            parent.setExpanded(True)
        self.tree.scrollToItem(item)
        self.tree.setCurrentItem(item)

    def show_faults(self, faults: Mapping[str, GraphlapError]) -> None:
        """Mark the files of the user's that can't be read, and say of the first why."""
        self._faults = faults
        color = self.palette().text().color().name()
        mark = glyph("warning", color, color)
        with QSignalBlocker(self.tree):
            for item in children(self._file_group):
                name = item.data(0, _NAME)
                item.setIcon(0, mark if name in faults else QIcon())
                item.setToolTip(0, plain_tip(f"{name}\n{faults[name]}" if name in faults else name))
        self._tell_fault()

    def show_assumed(self, sizes: Mapping[str, Mapping[str, int]]) -> None:
        """Say which sizes of the user's files are measured because nobody gave others."""
        models = [
            f"{Path(name).name} with {', '.join(f'{axis} = {n}' for axis, n in axes.items())}"
            for name, axes in sizes.items()
            if axes
        ]
        self.assumed.setText(f"Assumed: {'; '.join(models)}. Other sizes: below.")
        self.assumed.setVisible(bool(models))

    def _tell_fault(self) -> None:
        messages = [str(fault) for name, fault in self._faults.items() if name in self._selection]
        more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
        self.fault.setText(f"{messages[0]}{more}" if messages else "")
        self.fault.setVisible(bool(messages))

    def _ask_for_files(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, "Add models", "", "ONNX models (*.onnx)")
        self.add_files(paths)

    def _on_item_change(self, item: QTreeWidgetItem) -> None:
        if item.data(0, _NAME) is None:
            return  # a suite's own box follows its models, each of which reports itself
        items = [n for n, i in self._items.items() if i.checkState(0) == Qt.CheckState.Checked]
        if set(items) != set(self._selection):
            self.edited.emit(tuple(items))

    def _filter(self) -> None:
        words = self.search.text().casefold().split()
        for group in children(self.tree.invisibleRootItem()):
            visible = 0
            for item in children(group):
                text = f"{group.text(0)} {item.data(0, _FAMILY)} {item.text(0)}".casefold()
                is_hidden = not all(word in text for word in words)
                item.setHidden(is_hidden)
                visible += not is_hidden
            group.setHidden(not visible)
            if words:
                group.setExpanded(bool(visible))


def _tooltip(definition: Definition) -> str:
    inputs = ", ".join(f"{t.name} {list(t.shape)}" for t in definition.inputs)
    axes = ", ".join(f"{axis} = {size}" for axis, size in definition.axes.items())
    state = " · keeps state between steps" if definition.states else ""
    return f"{definition.name} · {definition.family}{state}\ninputs: {inputs}\naxes: {axes}"


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
        self.another = QLineEdit(placeholderText="another, such as ort-cpu@ort127, then Enter")
        named(self.another, "another runtime", TERMS["environments"])
        self.another.returnPressed.connect(self._add)
        self.default = named(PlainLabel(wrap=True), "runtimes that are measured", muted=True)
        lay(QVBoxLayout(self), self.tree, self.another, self.default)
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
