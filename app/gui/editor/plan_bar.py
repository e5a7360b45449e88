"""How long a plan measures and what else; its name and seed, which few change, are in `rest`."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRegularExpression, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from app.gui.look.flow import FlowLayout
from app.gui.look.terms import TERMS
from app.plan.plan import EMPTY, Plan, named_lengths
from app.plan.settings.table import by_key
from app.stats.required_rounds import MAXIMUM_ROUNDS

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
            box.clicked.connect(lambda checked, key=key: self._edit(key, checked))
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
            emptied = field is self.name and field.hasFocus() and not field.text()
            if field.text() != text and not emptied:
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
