"""Fields of the forms: several values in one line, folded parts, labels, plan-wide settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.cases.setting import Setting, field_text, field_value
from app.gui.look.controls import FlowLayout, lay, restyle, tool_button
from app.gui.look.text import TERMS
from app.plan.settings.table import default_of
from exporters.types import GraphlapError
from runtimes.options import Option, OptionValue


class ChoicesField(QWidget):
    """A check box for each known value, at least one of them checked."""

    edited = Signal(tuple)
    problem = ""

    def __init__(self, name: str, choices: Sequence[OptionValue], texts: Sequence[str] = ()):
        super().__init__()
        self.setAccessibleName(name)
        layout = FlowLayout(self)
        self.boxes: dict[OptionValue, QCheckBox] = {}
        for choice, text in zip(choices, texts or map(str, choices), strict=True):
            box = QCheckBox(text)
            box.setAccessibleName(f"{name} {text}")
            box.clicked.connect(self._on_click)
            self.boxes[choice] = box
            layout.addWidget(box)

    def show_value(self, values: Sequence[OptionValue]) -> None:
        for choice, box in self.boxes.items():
            box.setChecked(choice in values)

    def value(self) -> tuple[OptionValue, ...]:
        return tuple(choice for choice, box in self.boxes.items() if box.isChecked())

    def _on_click(self) -> None:
        if not self.value():  # the last box stays: no value at all would be no case
            box = self.sender()
            if isinstance(box, QCheckBox):
                box.setChecked(True)
            return
        self.edited.emit(self.value())


class ValuesField(QLineEdit):
    """Values of an option in text, with commas; empty is its default."""

    edited = Signal(tuple)

    def __init__(self, name: str, option: Option) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setPlaceholderText(str(option.default))
        self._option = option
        self.problem = ""
        self.textEdited.connect(self._read)

    def show_value(self, values: Sequence[OptionValue]) -> None:
        self.problem = ""
        if tuple(values) == (self._option.default,) and not self.text():
            return
        if self._parse(self.text()) != tuple(values):
            self.setText(", ".join(map(str, values)))

    def _read(self, text: str) -> None:
        self.edited.emit(self._parse(text))

    def _parse(self, text: str) -> tuple[OptionValue, ...] | None:
        self.problem = ""
        try:
            words = [word.strip() for word in text.split(",")]
            values = [self._option.parse(word) for word in words if word]
        except ValueError as error:
            self.problem = str(error)
            return None
        return tuple(dict.fromkeys(values)) or (self._option.default,)


def option_field(name: str, option: Option) -> ChoicesField | ValuesField:
    """The field that an option's table row asks for."""
    if isinstance(option.default, bool):
        return ChoicesField(name, (True, False), ("on", "off"))
    if option.choices:
        return ChoicesField(name, option.choices)
    return ValuesField(name, option)


class Fold(QWidget):
    """`button` opens and closes `content`; it is closed at first."""

    def __init__(self, title: str, hint: str, content: QWidget) -> None:
        super().__init__()
        self.content = content
        self.button = tool_button(title, "", hint)
        self.button.setCheckable(True)
        self.button.setAccessibleDescription(hint)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setAutoRaise(True)
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.button.toggled.connect(self._show)
        lay(QVBoxLayout(self), self.button, content, spacing=2)
        self._show(False)

    def open(self) -> None:
        """Show the content; it stays until the user closes it."""
        self.button.setChecked(True)

    def _show(self, shown: bool) -> None:
        self.content.setVisible(shown)
        self.button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)


def new_form(parent: QWidget | None = None) -> QFormLayout:
    """A form without margins, whose fields take the room that there is."""
    form = QFormLayout(parent)
    form.setContentsMargins(0, 0, 0, 0)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def add_row(form: QFormLayout, text: str, field: QWidget, term: str) -> None:
    """`term` is one of the glossary's, or a sentence of its own."""
    label = QLabel(text)
    label.setBuddy(field)
    for widget in (label, field):
        widget.setToolTip(TERMS.get(term, term))
    if isinstance(field, QLineEdit):
        field.setClearButtonEnabled(True)
    form.addRow(label, field)


class SettingField(QLineEdit):
    """One key as text; `edited` carries its value, `fault` says why there is none."""

    edited = Signal(object)

    def __init__(self, row: Setting) -> None:
        value = default_of(row)
        usual = row.absent or (field_text(row.form, value) if value else "none")
        super().__init__(placeholderText=f"{row.form.sample} … ({usual})")
        self.setAccessibleName(f"{row.term} of the sweep")
        self.setClearButtonEnabled(True)
        self.row = row
        self.fault: GraphlapError | None = None
        self.textEdited.connect(self._read)

    def show_value(self, value: Any) -> None:
        """Show a value of the plan; nothing is emitted."""
        if self.fault or self._value(self.text()) != _as_typed(value):
            is_usual = value == default_of(self.row)
            self.setText("" if is_usual else field_text(self.row.form, value))
        self._set_fault(None)

    @property
    def problem(self) -> str:
        return str(self.fault or "")

    def _parse(self, text: str) -> Any:
        """What the plan has for this text, the default for none; PlanError if it means nothing."""
        if not text.strip():
            return default_of(self.row)
        return field_value(self.row.form, text, self.row.flag)

    def _value(self, text: str) -> Any:
        try:
            return _as_typed(self._parse(text))
        except GraphlapError:
            return None

    def _read(self, text: str) -> None:
        try:
            value = self._parse(text)
        except GraphlapError as error:
            flag, term = f"{self.row.flag} ", f"{self.row.label.replace('&', '')} "
            cause, remedy = error.cause.replace(flag, term), error.remedy.replace(flag, "")
            self._set_fault(GraphlapError(cause, remedy))
            self.edited.emit(None)
            return
        self._set_fault(None)
        self.edited.emit(_as_typed(value))

    def _set_fault(self, fault: GraphlapError | None) -> None:
        self.fault = fault
        restyle(self, invalid=fault is not None)


def _as_typed(value: Any) -> Any:
    """Lists as the plan keeps them, so that a draft that is typed equals one that is read."""
    if isinstance(value, dict):
        return {name: _as_typed(item) for name, item in value.items()}
    return tuple(dict.fromkeys(value)) if isinstance(value, list) else value
