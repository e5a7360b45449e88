"""The form of one grid: models, runtimes, sizes, scenario and options, as a `Sweep`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QGroupBox,
    QLayout,
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
from app.plan.settings.table import SWEEP_SETTINGS
from exporters.types import PRECISIONS
from runtimes.registry import parse_spec


class GridForm(QWidget):
    """`edited(field, grid)` tells what the user changed and the whole grid after it."""

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
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(_group("Models", self.models))
        layout.addWidget(_group("Runtimes", self.runtimes))
        work = QFormLayout()
        for text, field, term in (
            ("&Batch", self.batch, "batch"),
            ("&Sequence", self.sequence, "sequence"),
            ("&Threads", self.threads, "threads"),
            ("Replicas", self.replicas, "replicas"),
            ("Other axes", self.axes, "axes"),
            ("&Precision", self.precisions, "precision"),
        ):
            add_row(work, text, field, term)
        self.batch.setPlaceholderText("1, 2, 4 … (the model's own)")
        self.sequence.setPlaceholderText("16, 64 … (the model's own)")
        self.threads.setPlaceholderText("1")
        self.replicas.setPlaceholderText("2, 4 … (one)")
        layout.addWidget(_group("Work", work))
        scenario = QFormLayout()
        scenario.addRow(self.scenarios)
        add_row(scenario, "&Wait policy", self.wait_policy, "wait policy")
        for axis, values in self._plain.items():
            add_row(scenario, axis.name.capitalize(), values, axis.name)
        layout.addWidget(_group("Scenario", scenario))
        layout.addWidget(_group("Runtime options", self.options))

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


def _group(title: str, content: QWidget | QFormLayout) -> QGroupBox:
    group = QGroupBox(title)
    if isinstance(content, QFormLayout):
        content.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        content.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        layout: QLayout = content
    else:
        layout = QVBoxLayout()
        layout.addWidget(content)
    group.setLayout(layout)
    layout.setContentsMargins(8, 6, 8, 8)
    return group
