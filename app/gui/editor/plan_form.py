"""Form of what holds for all grids: duration, figures and verdicts, limits, own files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from PySide6.QtCore import QRegularExpression, QStringListModel, Qt, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QFormLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.gui.editor.fields import Fold, SettingField, add_row
from app.gui.look.controls import FlowLayout
from app.gui.look.terms import TERMS
from app.plan.plan import EMPTY, Plan, named_lengths
from app.plan.settings.setting import FOLDS, Setting, Switch
from app.plan.settings.table import PLAN_SETTINGS, by_key
from app.stats.required_rounds import MAXIMUM_ROUNDS
from exporters.types import GraphlapError
from runtimes.registry import environment_of, parse_spec

_FOLDS = {
    title: tuple(setting for setting in PLAN_SETTINGS if setting.fold == title) for title in FOLDS
}
"""Titles, and the settings of the plan below each."""


class PlanForm(QWidget):
    """`edited(field, draft)` as the grid form has it; `fault` says what a field lacks."""

    edited = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self._draft = EMPTY
        rows = [row for fold in _FOLDS.values() for row in fold]
        self.boxes = {row.key: _box(row) for row in rows if isinstance(row.form, Switch)}
        self.fields = {row.key: SettingField(row) for row in rows if row.key not in self.boxes}
        self._baselines = QStringListModel(self)
        completer = QCompleter(self._baselines, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.activated.connect(self.fields["baseline"].textEdited)
        self.fields["baseline"].setCompleter(completer)
        self.folds = {title: self._fold(title, rows) for title, rows in _FOLDS.items()}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for fold in self.folds.values():
            layout.addWidget(fold)
        for key, field in self.fields.items():
            field.edited.connect(lambda value, key=key: self._on_input(key, value))
        for key, box in self.boxes.items():
            box.clicked.connect(lambda is_checked, key=key: self._edit(key, is_checked))
        self.show_draft(self._draft)

    def _fold(self, title: str, rows: Sequence[Setting]) -> Fold:
        content = QWidget()
        form = QFormLayout(content)
        form.setContentsMargins(8, 2, 0, 6)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for row in rows:
            if row.key in self.boxes:
                form.addRow("", self.boxes[row.key])
            else:
                add_row(form, row.label, self.fields[row.key], row.glossary_term)
        text = ", ".join(row.glossary_term for row in rows if row.key in self.fields)
        return Fold(title, f"Of all grids of the sweep: {text}.", content)

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
        for title, rows in _FOLDS.items():
            if any(getattr(draft, row.key) != getattr(EMPTY, row.key) for row in rows):
                self.folds[title].open()

    def _on_input(self, key: str, value: Any) -> None:
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
        runtime_names = {parse_spec(text).name for text in grid.runtimes}
        for option, values in grid.options.items():
            if option.partition(".")[0] in runtime_names:
                yield from (f"{option}={value}" for value in values)


def _box(row: Setting) -> QCheckBox:
    box = QCheckBox(row.label)
    box.setAccessibleName(f"{row.glossary_term} of the sweep")
    box.setToolTip(TERMS[row.glossary_term])
    return box


_NAME = QRegularExpression("[A-Za-z0-9][A-Za-z0-9._-]*")
_NUMBER = QRegularExpression("[0-9]{0,18}")


class PlanBar(QWidget):
    """`edited(field, draft)` as the grid form has it."""

    edited = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self._draft = EMPTY
        self.name = QLineEdit()
        self.name.setValidator(QRegularExpressionValidator(_NAME, self))
        self.profile = QComboBox()
        for name, profile in named_lengths().items():
            length = f"{profile.rounds} rounds of at least {profile.limits.min_s:g} s"
            self.profile.addItem(f"{name.capitalize()}: {length}", name)
        self.rounds, self.seed = QLineEdit(), QLineEdit()
        for field in (self.rounds, self.seed):
            field.setValidator(QRegularExpressionValidator(_NUMBER, self))
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(by_key()["profile"].label, self.profile)
        form.addRow(by_key()["rounds"].label, self.rounds)
        self.rest = QWidget()
        rest = QFormLayout(self.rest)
        rest.setContentsMargins(0, 0, 0, 0)
        rest.addRow("&Name", self.name)
        rest.addRow(by_key()["seed"].label, self.seed)
        self.profile_ops = QCheckBox(by_key()["profile_ops"].label)
        self.largest_batch = QCheckBox(by_key()["largest_batch"].label)
        extras = QWidget()
        row = FlowLayout(extras)
        row.addWidget(self.profile_ops)
        row.addWidget(self.largest_batch)
        form.addRow("Also", extras)
        self.memory_limit = QLineEdit(placeholderText="8GiB … (most of what is free)")
        self._limit_label = QLabel(by_key()["memory_limit"].label)
        self._limit_label.setBuddy(self.memory_limit)
        form.addRow(self._limit_label, self.memory_limit)
        for widget, term in (
            (self.name, "name"),
            (self.profile, "profile"),
            (self.rounds, "round"),
            (self.seed, "seed"),
            (self.profile_ops, "operator times"),
            (self.largest_batch, "largest batch"),
            (self.memory_limit, "memory limit"),
        ):
            widget.setAccessibleName(f"{term} of the sweep")
            widget.setToolTip(TERMS.get(term, "The name of the sweep, and of its run folder."))
        self.name.textEdited.connect(lambda text: self._edit("name", text or "sweep"))
        self.profile.activated.connect(lambda: self._edit("profile", self.profile.currentData()))
        self.rounds.textEdited.connect(lambda text: self._edit("rounds", int(text or 0) or None))
        self.seed.textEdited.connect(lambda text: self._edit("seed", int(text) if text else None))
        for box, key in (
            (self.profile_ops, "profile_ops"),
            (self.largest_batch, "largest_batch"),
        ):
            box.clicked.connect(lambda is_checked, key=key: self._edit(key, is_checked))
        self.memory_limit.textEdited.connect(lambda text: self._edit("memory_limit", text.strip()))
        self.show_draft(self._draft)

    def show_draft(self, draft: Plan) -> None:
        """Show a draft's own fields; nothing is emitted."""
        self._draft = draft
        self.profile.setCurrentIndex(self.profile.findData(draft.profile))
        for field, text in (
            (self.name, draft.name),
            (self.rounds, str(draft.rounds or "")),
            (self.seed, "" if draft.seed is None else str(draft.seed)),
            (self.memory_limit, draft.memory_limit),
        ):
            is_cleared = field is self.name and field.hasFocus() and not field.text()
            if field.text() != text and not is_cleared:
                field.setText(text)
        self.seed.setPlaceholderText("0")
        rounds = (
            f"at most {MAXIMUM_ROUNDS}" if draft.precise or draft.is_sequential else "the profile's"
        )
        self.rounds.setPlaceholderText(rounds)
        self.profile_ops.setChecked(draft.profile_ops)
        self.largest_batch.setChecked(draft.largest_batch)
        for widget in (self._limit_label, self.memory_limit):
            widget.setVisible(draft.largest_batch or bool(draft.memory_limit))

    def _edit(self, name: str, value: Any) -> None:
        self.edited.emit(name, self._draft.model_copy(update={name: value}))
