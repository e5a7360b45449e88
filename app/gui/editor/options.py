"""The options of the chosen runtimes, each form made from the runtime's own table.

A value beside the default makes one more point of the sweep, so that a runtime can be
compared with itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QGroupBox, QLabel, QVBoxLayout, QWidget

from app.gui.editor.fields import ChoicesField, ValuesField, option_field
from app.gui.look.words import PlainLabel, plain_tip
from app.machine import installed_runtimes
from runtimes import registry
from runtimes.options import Option, OptionValue
from runtimes.registry import parse_spec

Options = Mapping[str, tuple[OptionValue, ...]]


class OptionsForm(QWidget):
    """`runtime.option` -> values, those that are only the default left out."""

    edited = Signal(dict)

    def __init__(self) -> None:
        super().__init__()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._none = QLabel("Choose runtimes to see their options")
        self._none.setProperty("muted", True)
        self._none.setWordWrap(True)
        self._layout.addWidget(self._none)
        self.fields: dict[str, ChoicesField | ValuesField] = {}
        self._groups: dict[str, QGroupBox] = {}
        self._table: dict[str, Option] = {}
        self._values: dict[str, tuple[OptionValue, ...]] = {}

    @property
    def problem(self) -> str:
        shown = (f for key, f in self.fields.items() if key.partition(".")[0] in self._groups)
        return next((field.problem for field in shown if field.problem), "")

    def show_runtimes(self, specs: tuple[str, ...]) -> None:
        """Show the forms of these runtimes and no others."""
        names = dict.fromkeys(parse_spec(spec).name for spec in specs)
        for name in [name for name in self._groups if name not in names]:
            group = self._groups.pop(name)
            self.fields = {k: f for k, f in self.fields.items() if k.partition(".")[0] != name}
            self._layout.removeWidget(group)
            group.deleteLater()
        for name in names:
            if name not in self._groups and name in registry.names():
                self._add_group(name)
        self._none.setVisible(not self._groups)
        self.show_value(self._values)

    def show_value(self, options: Options) -> None:
        self._values = dict(options)
        for key, field in self.fields.items():
            field.show_value(self._values.get(key, (self._table[key].default,)))

    def _add_group(self, name: str) -> None:
        options = installed_runtimes.runtime(name).options
        if not options:
            return
        group = QGroupBox(name)
        form = QFormLayout(group)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for option in options:
            key = f"{name}.{option.name}"
            field = option_field(f"{name} {option.name}", option)
            label = PlainLabel(option.name.replace("_", " "))
            label.setBuddy(field)
            for widget in (label, field):
                widget.setToolTip(plain_tip(_tooltip(option)))
            field.edited.connect(lambda values, key=key: self._edited(key, values))
            form.addRow(label, field)
            self.fields[key] = field
            self._table[key] = option
        self._groups[name] = group
        self._layout.addWidget(group)

    def _edited(self, key: str, values: tuple[OptionValue, ...] | None) -> None:
        options = dict(self._values)
        if values is None or values == (self._table[key].default,):
            options.pop(key, None)
        else:
            options[key] = values
        self.edited.emit(options)


def _tooltip(option: Option) -> str:
    """The table's own help, with the default and the limits."""
    facts = [f"default {option.default}"]
    if option.minimum is not None:
        facts.append(f"at least {option.minimum:g}")
    if option.maximum is not None:
        facts.append(f"at most {option.maximum:g}")
    text = f"{option.name}: {option.help} ({', '.join(facts)})."
    return f"{text} Several values make several cases."
