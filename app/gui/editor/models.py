"""Choosing models: the catalogue by suite and family, searchable, and the user's own files.

Files are added by dropping them on the list or with a dialog; a file that is no model is
refused in one sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QIcon
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.icons import glyph
from app.gui.look.text import PlainLabel, plain_tip
from exporters.models import catalogue
from exporters.types import FILE_ENDINGS, Definition, GraphlapError

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
        self.search = QLineEdit(placeholderText="Search models", clearButtonEnabled=True)
        self.search.setAccessibleName("search models")
        self.suite, self.family = QComboBox(), QComboBox()
        self.tree = ModelTree()
        self.count = QLabel()
        self.count.setProperty("muted", True)
        self.fault = PlainLabel(wrap=True)
        self.fault.setProperty("wrong", True)
        self.fault.setAccessibleName("models that can't be read")
        self.fault.hide()
        self.assumed = PlainLabel(wrap=True)
        self.assumed.setAccessibleName("sizes that were assumed")
        self.assumed.hide()
        self.add_file = QPushButton("Add file…")
        self.add_file.setToolTip("Add .onnx files; they can also be dropped on the list")
        self.clear = QPushButton("Clear")
        self.clear.setToolTip("Take the check marks off all models")
        self._items: dict[str, QTreeWidgetItem] = {}
        self._selection: tuple[str, ...] = ()
        self._faults: Mapping[str, GraphlapError] = {}
        self._fill()
        self._lay_out()
        self.search.textChanged.connect(self._filter)
        self.suite.currentIndexChanged.connect(self._filter)
        self.family.currentIndexChanged.connect(self._filter)
        self.tree.itemChanged.connect(self._on_item_change)
        self.tree.dropped.connect(self.add_files)
        self.add_file.clicked.connect(self._ask_for_files)
        self.clear.clicked.connect(lambda: self.edited.emit(()))

    def _lay_out(self) -> None:
        filters = QHBoxLayout()
        for combo, name in ((self.suite, "suite"), (self.family, "family")):
            combo.setAccessibleName(f"show only the models of one {name}")
            combo.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            filters.addWidget(combo, 1)
        footer = QHBoxLayout()
        footer.addWidget(self.count, 1)
        footer.addWidget(self.clear)
        footer.addWidget(self.add_file)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.search)
        layout.addLayout(filters)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self.fault)
        layout.addWidget(self.assumed)
        layout.addLayout(footer)

    def _fill(self) -> None:
        suites = catalogue.by_suite()
        families = {d.family for definitions in suites.values() for d in definitions}
        for combo, every, words in (
            (self.suite, "All suites", suites),
            (self.family, "All families", sorted(families)),
        ):
            combo.addItem(every, "")
            for word in words:
                combo.addItem(word, word)
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
                state = (
                    Qt.CheckState.Checked if name in self._selection else Qt.CheckState.Unchecked
                )
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
            for item in _children(self._file_group):
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
        suite, family = self.suite.currentData(), self.family.currentData()
        for group in _children(self.tree.invisibleRootItem()):
            visible = 0
            for item in _children(group):
                text = f"{group.text(0)} {item.data(0, _FAMILY)} {item.text(0)}".casefold()
                is_hidden = (
                    not all(word in text for word in words)
                    or (bool(suite) and group.text(0) != suite)
                    or (bool(family) and item.data(0, _FAMILY) != family)
                )
                item.setHidden(is_hidden)
                visible += not is_hidden
            group.setHidden(not visible)
            if words or suite or family:
                group.setExpanded(bool(visible))


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    return [child for k in range(item.childCount()) if (child := item.child(k)) is not None]


def _tooltip(definition: Definition) -> str:
    inputs = ", ".join(f"{t.name} {list(t.shape)}" for t in definition.inputs)
    axes = ", ".join(f"{axis} = {size}" for axis, size in definition.axes.items())
    state = " · keeps state between steps" if definition.states else ""
    return f"{definition.name} · {definition.family}{state}\ninputs: {inputs}\naxes: {axes}"
