"""Form of one grid: models, runtimes, sizes, scenario and runtime options, as a `Sweep`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGridLayout,
    QGroupBox,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.cases.scenario import FORMS, WAIT_POLICIES, Scenario, ScenarioKind
from app.gui.editor.fields import (
    ChoicesField,
    SettingField,
    ValuesField,
    add_row,
    new_form,
    option_field,
)
from app.gui.editor.pickers import ModelPicker, RuntimePicker
from app.gui.look.controls import lay, named, restyle
from app.gui.look.text import PlainLabel, plain_tip
from app.machine import installed_runtimes
from app.plan.plan import EMPTY_GRID
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import SWEEP_SETTINGS, by_key
from exporters.types import PRECISIONS
from runtimes import registry
from runtimes.options import Option, OptionValue
from runtimes.registry import parse_spec

Options = Mapping[str, tuple[OptionValue, ...]]


class OptionsForm(QWidget):
    """`runtime.option` -> values, those that are only the default left out."""

    edited = Signal(dict)

    def __init__(self) -> None:
        super().__init__()
        self._none = QLabel("Choose runtimes to see their options", wordWrap=True)
        self._layout = lay(QVBoxLayout(self), named(self._none, muted=True))
        self.fields: dict[str, ChoicesField | ValuesField] = {}
        self._groups: dict[str, QGroupBox] = {}
        self._table: dict[str, Option] = {}
        self._values: dict[str, tuple[OptionValue, ...]] = {}

    @property
    def problem(self) -> str:
        visible_fields = (
            f for key, f in self.fields.items() if key.partition(".")[0] in self._groups
        )
        return next((field.problem for field in visible_fields if field.problem), "")

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
        form = new_form(group)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        for option in options:
            key = f"{name}.{option.name}"
            field = option_field(f"{name} {option.name}", option)
            label = PlainLabel(option.name.replace("_", " "))
            label.setBuddy(field)
            for widget in (label, field):
                widget.setToolTip(plain_tip(_tooltip(option)))
            field.edited.connect(lambda values, key=key: self._on_edit(key, values))
            form.addRow(label, field)
            self.fields[key] = field
            self._table[key] = option
        self._groups[name] = group
        self._layout.addWidget(group)

    def _on_edit(self, key: str, values: tuple[OptionValue, ...] | None) -> None:
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


_SEPARATORS = re.compile(r"[,\s]+")


class ScenarioField(QWidget):
    """Each checked kind with each of its figures is one more scenario of the sweep."""

    edited = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self.boxes: dict[ScenarioKind, QCheckBox] = {}
        self.figures: dict[ScenarioKind, QLineEdit] = {}
        self.problem = ""
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for place, (kind, form) in enumerate(FORMS.items()):
            name = kind.replace("_", " ")
            box = named(QCheckBox(form.label), f"scenario {name}", form.meaning)
            box.clicked.connect(self._read)
            grid.addWidget(box, place, 0)
            self.boxes[kind] = box
            if form.example:
                tip = f"{form.hint[:1].upper()}{form.hint[1:]}; several with commas."
                line = named(QLineEdit(form.example), f"figures of the scenario {name}", tip)
                line.textEdited.connect(self._read)
                grid.addWidget(line, place, 1)
                self.figures[kind] = line

    def show_value(self, scenarios: Sequence[str]) -> None:
        """Show these; nothing is emitted."""
        for kind, box in self.boxes.items():
            kind_texts = [text for text in scenarios if text.partition(":")[0] == kind]
            box.setChecked(bool(kind_texts))
            line = self.figures.get(kind)
            if line is not None:
                if kind_texts and self._read_kind(kind) != kind_texts:
                    line.setText(", ".join(text.partition(":")[2] for text in kind_texts))
                line.setEnabled(bool(kind_texts))
                restyle(line, invalid=False)
        self.problem = ""

    def _texts(self, kind: ScenarioKind) -> list[str]:
        """The scenarios of a kind as they are typed, one without figures where none is."""
        line = self.figures.get(kind)
        if line is None:
            return [kind]
        words = [word for word in _SEPARATORS.split(line.text()) if word]
        return [f"{kind}:{word}" for word in words] or [f"{kind}:"]

    def _read_kind(self, kind: ScenarioKind) -> list[str]:
        """The scenarios of a kind as a plan holds them; none while one of them is wrong."""
        try:
            return [str(Scenario.parse(text)) for text in self._texts(kind)]
        except ValueError:
            return []

    def _read(self) -> None:
        texts: list[str] = []
        self.problem = ""
        for kind, box in self.boxes.items():
            line = self.figures.get(kind)
            if line is not None:
                line.setEnabled(box.isChecked())
                restyle(line, invalid=False)
            if not box.isChecked():
                continue
            try:
                texts += [str(Scenario.parse(text)) for text in self._texts(kind)]
            except ValueError as error:
                self.problem = self.problem or f"scenario {error}"
                if line is not None:
                    restyle(line, invalid=True)
        if not texts and not self.problem:
            self.problem = "no scenario is chosen; check closed loop, or another"
        self.edited.emit(None if self.problem else tuple(dict.fromkeys(texts)))


class GridForm(QObject):
    """`edited(field, grid)` has what the user changed and the whole grid after it. `what` holds
    models and their sizes, `where` the runtimes, `rest` all else."""

    edited = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self._grid = EMPTY_GRID
        self.models = ModelPicker()
        self.runtimes = RuntimePicker()
        self.precisions = ChoicesField("precision", PRECISIONS)
        self.scenarios = ScenarioField()
        self.wait_policy = named(QComboBox(), "wait policy")
        self.wait_policy.addItems(WAIT_POLICIES)
        self.options = OptionsForm()
        self._parts: dict[str, Any] = {
            "models": self.models,
            "runtimes": self.runtimes,
            "precisions": self.precisions,
            "scenarios": self.scenarios,
            "options": self.options,
        }
        self.fields = {
            row.key: SettingField(row)
            for row in SWEEP_SETTINGS
            if row.key not in (*self._parts, "wait_policy")
        }
        self._parts |= self.fields
        for name, part in self._parts.items():
            part.edited.connect(lambda value, name=name: self._on_edit(name, value))
        self.wait_policy.textActivated.connect(lambda text: self._on_edit("wait_policy", text))
        self._lay_out()
        self.show_grid(self._grid)

    def _lay_out(self) -> None:
        sizes = ("batch_size", "sequence_length")
        self.what = _column(self.models, self._rows(*sizes))
        self.where = _column(self.runtimes, self._rows("threads"))
        work = self._rows("precisions", "axes", "replicas")
        shown = (*sizes, "threads", "axes", "replicas")
        scenario = self._rows("wait_policy", *(key for key in self.fields if key not in shown))
        scenario.insertRow(0, self.scenarios)
        self.rest = _column(
            _group("Work", work),
            _group("Scenario", scenario),
            _group("Runtime options", self.options),
        )

    def _rows(self, *keys: str) -> QFormLayout:
        """A row for each setting, with the label and the term of the settings' table."""
        form = new_form()
        for key in keys:
            field = self.wait_policy if key == "wait_policy" else self._parts[key]
            add_row(form, by_key()[key].label, field, by_key()[key].term)
        return form

    @property
    def problem(self) -> str:
        """The first sentence of a field that holds no value; empty where all do."""
        return next((part.problem for part in self._parts.values() if part.problem), "")

    def show_grid(self, grid: Sweep) -> None:
        """Show a grid; nothing is emitted."""
        self._grid = grid
        self.options.show_runtimes(grid.runtimes)
        for name, part in self._parts.items():
            part.show_value(getattr(grid, name))
        self.wait_policy.setCurrentText(grid.wait_policy)
        waits = any(Scenario.parse(text).waits for text in grid.scenarios)
        self.wait_policy.setEnabled(waits)

    def _on_edit(self, name: str, value: Any) -> None:
        if value is None:
            self.edited.emit(name, self._grid)  # the field says what is wrong with it
            return
        grid = self._grid.model_copy(update={name: value})
        if name == "runtimes":
            grid = grid.model_copy(update={"options": _for_runtimes(grid.options, grid.runtimes)})
        self.edited.emit(name, grid)


def _for_runtimes(options: Any, specs: Iterable[str]) -> dict[str, Any]:
    """The options of runtimes that are still measured; the plan refuses all others."""
    names = {parse_spec(spec).name for spec in specs}
    return {key: values for key, values in options.items() if key.partition(".")[0] in names}


def _column(*parts: QWidget | QFormLayout) -> QWidget:
    column = QWidget()
    lay(QVBoxLayout(column), *parts, spacing=8)
    return column


def _group(title: str, content: QWidget | QFormLayout) -> QGroupBox:
    group = QGroupBox(title)
    layout = content if isinstance(content, QFormLayout) else QVBoxLayout()
    if isinstance(content, QWidget):
        layout.addWidget(content)
    group.setLayout(layout)
    layout.setContentsMargins(0, 6, 0, 8)
    return group
