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
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.cases.setting import FOLDS, Setting, Switch
from app.gui.editor.fields import Fold, SettingField, add_row, new_form
from app.gui.look.controls import FlowLayout, lay, named
from app.gui.look.text import TERMS
from app.plan.plan import EMPTY, Plan, named_lengths
from app.plan.settings.table import PLAN_SETTINGS, by_key
from app.stats.required_rounds import MAXIMUM_ROUNDS
from exporters.types import GraphlapError
from runtimes.registry import environment_of, parse_spec

_FOLDS = {
    title: tuple(setting for setting in PLAN_SETTINGS if setting.fold == title) for title in FOLDS
}
"""Titles, and the settings of the plan below each."""


_SHORT = ("rounds", "memory_limit", "seed", "profile_ops", "largest_batch")
"""What stands outside of the folds, beside the name and the length."""
_NAME = QRegularExpression("[A-Za-z0-9][A-Za-z0-9._-]*")


class PlanForm(QWidget):
    """`edited(field, draft)` as the grid form has it; `fault` says what a field lacks. `bar` holds
    how long is measured, `rest` name and seed, the form itself all else in folds."""

    edited = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self._draft = EMPTY
        rows = [*map(by_key().__getitem__, _SHORT), *(r for fold in _FOLDS.values() for r in fold)]
        self.boxes = {row.key: _box(row) for row in rows if isinstance(row.form, Switch)}
        self.fields = {row.key: SettingField(row) for row in rows if row.key not in self.boxes}
        self._baselines = QStringListModel(self)
        completer = QCompleter(self._baselines, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.activated.connect(self.fields["baseline"].textEdited)
        self.fields["baseline"].setCompleter(completer)
        self.name = named(QLineEdit(), "name of the sweep")
        self.name.setValidator(QRegularExpressionValidator(_NAME, self))
        self.profile = named(QComboBox(), "profile of the sweep")
        for name, profile in named_lengths().items():
            length = f"{profile.rounds} rounds of at least {profile.limits.min_s:g} s"
            self.profile.addItem(f"{name.capitalize()}: {length}", name)
        self.bar, self._bar_form = _form()
        add_row(self._bar_form, by_key()["profile"].label, self.profile, "profile")
        self._add(self._bar_form, "rounds")
        extras = QWidget()
        row = FlowLayout(extras)
        for key in ("profile_ops", "largest_batch"):
            row.addWidget(self.boxes[key])
        self._bar_form.addRow("Also", extras)
        self._add(self._bar_form, "memory_limit")
        self.rest, rest = _form()
        add_row(rest, "&Name", self.name, "The name of the sweep, and of its run folder.")
        self._add(rest, "seed")
        self.folds = {title: self._fold(title, rows) for title, rows in _FOLDS.items()}
        lay(QVBoxLayout(self), *self.folds.values(), spacing=2)
        self.name.textEdited.connect(lambda text: self._edit("name", text or "sweep"))
        self.profile.activated.connect(lambda: self._edit("profile", self.profile.currentData()))
        for key, field in self.fields.items():
            field.edited.connect(lambda value, key=key: self._on_input(key, value))
        for key, box in self.boxes.items():
            box.clicked.connect(lambda is_checked, key=key: self._edit(key, is_checked))
        self.show_draft(self._draft)

    def _add(self, form: QFormLayout, key: str) -> None:
        row = by_key()[key]
        add_row(form, row.label, self.fields[key], row.term)

    def _fold(self, title: str, rows: Sequence[Setting]) -> Fold:
        content, form = _form()
        form.setContentsMargins(8, 2, 0, 6)
        for row in rows:
            if row.key in self.boxes:
                form.addRow("", self.boxes[row.key])
            else:
                self._add(form, row.key)
        text = ", ".join(row.term for row in rows if row.key in self.fields)
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
        if self.name.text() != draft.name and (self.name.text() or not self.name.hasFocus()):
            self.name.setText(draft.name)
        self.profile.setCurrentIndex(self.profile.findData(draft.profile))
        rounds = (
            f"at most {MAXIMUM_ROUNDS}" if draft.precise or draft.is_sequential else "the profile's"
        )
        self.fields["rounds"].setPlaceholderText(rounds)
        is_limited = draft.largest_batch or bool(draft.memory_limit)
        self._bar_form.setRowVisible(self.fields["memory_limit"], is_limited)
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


def _form() -> tuple[QWidget, QFormLayout]:
    content = QWidget()
    return content, new_form(content)


def _box(row: Setting) -> QCheckBox:
    return named(QCheckBox(row.label), f"{row.term} of the sweep", TERMS[row.term])
