"""What holds for all grids of a sweep and few change: figures and verdicts, limits, own files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QCompleter, QFormLayout, QVBoxLayout, QWidget

from app.gui.editor.fold import Fold
from app.gui.editor.form_rows import add_row
from app.gui.editor.plan_text import FIGURES, FILES, LIMITS, PLACES, PlanTextField
from app.gui.look.terms import TERMS
from app.plan.draft import EMPTY
from app.plan.plan import Plan
from exporters.types import GraphlapError
from runtimes.environment import environment_of
from runtimes.registry import parse_spec

_LABELS = {"aa": "With itself", "custom_ops": "Operators", "accuracy": "Labelled data"}
"""Where a term is too long for a form's first column."""
_ROWS = {row.key: row for row in (*FIGURES, *LIMITS, *PLACES, *FILES)}
_BOXES = (
    ("null", "Null twin of each case", "null twin"),
    ("check", "Compile only", "compile only"),
    ("checked", "Compare outputs", "compare outputs"),
    ("lock_memory", "Lock memory", "lock memory"),
    ("per_host", "Every case on every host", "every host"),
    ("send_code", "Send own code to hosts", "send code"),
    ("insecure_cluster", "Cluster without certificates", "no certificates"),
    ("rotate_inputs", "Rotate inputs", "rotate inputs"),
    ("save_inputs", "Save inputs", "save inputs"),
)
_FOLDS: dict[str, tuple[str, ...]] = {
    "Figures and verdicts of the sweep": (*(row.key for row in FIGURES), "null"),
    "Limits and checks of the sweep": (*(row.key for row in LIMITS), "check", "checked"),
    "Where it runs": (
        *(row.key for row in PLACES),
        "lock_memory",
        "per_host",
        "send_code",
        "insecure_cluster",
    ),
    "Files and parts of models": (*(row.key for row in FILES), "rotate_inputs", "save_inputs"),
}
"""Titles, and the keys of the plan below each."""


class PlanForm(QWidget):
    """`edited(field, draft)` as the grid form has it; `fault` says what a field lacks."""

    edited = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self._draft = EMPTY
        self.fields = {row.key: PlanTextField(row) for row in _ROWS.values()}
        self.boxes = {key: _box(text, term) for key, text, term in _BOXES}
        self._baselines = QStringListModel(self)
        completer = QCompleter(self._baselines, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.activated.connect(self.fields["baseline"].textEdited)
        self.fields["baseline"].setCompleter(completer)
        self.folds = {title: self._fold(title, *keys) for title, keys in _FOLDS.items()}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for fold in self.folds.values():
            layout.addWidget(fold)
        for key, field in self.fields.items():
            field.edited.connect(lambda value, key=key: self._typed(key, value))
        for key, box in self.boxes.items():
            box.clicked.connect(lambda checked, key=key: self._edit(key, checked))
        self.show_draft(self._draft)

    def _fold(self, title: str, *keys: str) -> Fold:
        content = QWidget()
        form = QFormLayout(content)
        form.setContentsMargins(8, 2, 0, 6)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for key in keys:
            if key in self.boxes:
                form.addRow("", self.boxes[key])
            else:
                term = _ROWS[key].term
                label = _LABELS.get(key, term.capitalize())
                add_row(form, label, self.fields[key], term)
        told = ", ".join(_ROWS[key].term for key in keys if key in _ROWS)
        return Fold(title, f"Of all grids of the sweep: {told}.", content)

    @property
    def fault(self) -> GraphlapError | None:
        """Of the first field that holds no value."""
        return next((field.fault for field in self.fields.values() if field.fault), None)

    def show_draft(self, draft: Plan) -> None:
        """Show a draft's own fields, and open what it sets; nothing is emitted."""
        self._draft = draft
        for key, field in self.fields.items():
            field.show_value(getattr(draft, key))
        for key, box in self.boxes.items():
            box.setChecked(getattr(draft, key))
        self._baselines.setStringList(list(dict.fromkeys(_candidates(draft))))
        for title, keys in _FOLDS.items():
            if any(getattr(draft, key) != getattr(EMPTY, key) for key in keys):
                self.folds[title].open()

    def _typed(self, key: str, value: Any) -> None:
        if self.fields[key].fault:
            self.edited.emit(key, self._draft)  # the field says what is wrong with it
        else:
            self._edit(key, value)

    def _edit(self, key: str, value: Any) -> None:
        self.edited.emit(key, self._draft.model_copy(update={key: value}))


def _candidates(draft: Plan) -> Iterator[str]:
    """What a baseline of this draft can be: runtimes, models, values of options."""
    for grid in draft.sweeps:
        yield from grid.runtimes
        yield from grid.models
        yield from (f"@{name}" for name in map(environment_of, grid.runtimes) if name)
        measured = {parse_spec(text).name for text in grid.runtimes}
        for option, values in grid.options.items():
            if option.partition(".")[0] in measured:
                yield from (f"{option}={value}" for value in values)


def _box(text: str, term: str) -> QCheckBox:
    box = QCheckBox(text)
    box.setAccessibleName(f"{term} of the sweep")
    box.setToolTip(TERMS[term])
    return box
