"""The parts of the form of one grid: models, runtimes, sizes, scenario, options, as a `Sweep`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QGroupBox,
    QVBoxLayout,
    QWidget,
)

from app.cases.dimensions import GRID
from app.cases.scenario import WAIT_POLICIES, Scenario
from app.gui.editor.axes_field import AxesField
from app.gui.editor.fields import ChoicesField, SizesField, ValuesField
from app.gui.editor.form_rows import add_row
from app.gui.editor.models import ModelPicker
from app.gui.editor.options import OptionsForm
from app.gui.editor.runtimes import RuntimePicker
from app.gui.editor.scenario_field import ScenarioField
from app.plan.plan import EMPTY_GRID
from app.plan.settings.setting import Words
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import SWEEP_SETTINGS, by_key
from exporters.types import PRECISIONS
from runtimes.registry import parse_spec


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
        self.batch = SizesField("batch sizes")
        self.sequence = SizesField("sequence lengths")
        self.threads = SizesField("threads", least=0, empty=(1,))
        self.replicas = SizesField("replicas")
        self.axes = AxesField()
        self.scenarios = ScenarioField()
        self.wait_policy = QComboBox()
        self.wait_policy.addItems(WAIT_POLICIES)
        self.wait_policy.setAccessibleName("wait policy")
        self.options = OptionsForm()
        self._parts: dict[str, Any] = {
            "models": self.models,
            "runtimes": self.runtimes,
            "precisions": self.precisions,
            "batch_size": self.batch,
            "sequence_length": self.sequence,
            "axes": self.axes,
            "threads": self.threads,
            "replicas": self.replicas,
            "scenarios": self.scenarios,
            "options": self.options,
        }
        # An axis that asks for no field of its own is a list in text.
        forms = {row.key: row.form for row in SWEEP_SETTINGS if isinstance(row.form, Words)}
        self._plain = {
            axis: ValuesField(
                axis.name,
                getattr(EMPTY_GRID, axis.key)[0],
                forms[axis.key].parse,
                forms[axis.key].separator,
            )
            for axis in GRID
            if axis.key not in self._parts
        }
        self._parts |= {axis.key: field for axis, field in self._plain.items()}
        for name, part in self._parts.items():
            part.edited.connect(lambda value, name=name: self._edited(name, value))
        self.wait_policy.textActivated.connect(lambda text: self._edited("wait_policy", text))
        self._lay_out()
        self.show_grid(self._grid)

    def _lay_out(self) -> None:
        self.batch.setPlaceholderText("1, 2, 4 … (the model's own)")
        self.sequence.setPlaceholderText("16, 64 … (the model's own)")
        self.threads.setPlaceholderText("1")
        self.replicas.setPlaceholderText("2, 4 … (one)")
        sizes = _rows(("batch_size", self.batch), ("sequence_length", self.sequence))
        self.what = _column(self.models, sizes)
        threads = _rows(("threads", self.threads))
        self.where = _column(self.runtimes, threads)
        work = _rows(
            ("precisions", self.precisions),
            ("axes", self.axes),
            ("replicas", self.replicas),
        )
        scenario = _rows(("wait_policy", self.wait_policy))
        for axis, values in self._plain.items():
            add_row(scenario, axis.name.capitalize(), values, axis.name)
        scenario.insertRow(0, self.scenarios)
        self.rest = _column(
            _group("Work", work),
            _group("Scenario", scenario),
            _group("Runtime options", self.options),
        )

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

    def _edited(self, name: str, value: Any) -> None:
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


def _rows(*rows: tuple[str, QWidget]) -> QFormLayout:
    """A row for each setting by its key, with the label and the term of the settings' table."""
    form = QFormLayout()
    form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    for key, field in rows:
        row = by_key()[key]
        add_row(form, row.label, field, row.glossary_term)
    return form


def _column(*parts: QWidget | QFormLayout) -> QWidget:
    column = QWidget()
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(8)
    for part in parts:
        if isinstance(part, QWidget):
            layout.addWidget(part)
        else:
            layout.addLayout(part)
    return column


def _group(title: str, content: QWidget | QFormLayout) -> QGroupBox:
    group = QGroupBox(title)
    layout = content if isinstance(content, QFormLayout) else QVBoxLayout()
    if isinstance(content, QWidget):
        layout.addWidget(content)
    group.setLayout(layout)
    layout.setContentsMargins(0, 6, 0, 8)
    return group
