"""A field for a setting of a whole plan, with the text that its flag takes on a command line."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit

from app.plan.settings.setting import Setting, field_text, field_value
from app.plan.settings.table import default_of
from exporters.types import GraphlapError


class PlanTextField(QLineEdit):
    """One key as text; `edited` carries its value, `fault` says why there is none."""

    edited = Signal(object)

    def __init__(self, row: Setting) -> None:
        super().__init__(placeholderText=row.example)
        self.setAccessibleName(f"{row.glossary_term} of the sweep")
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
            flag, term = f"{self.row.flag} ", f"{self.row.label} "
            cause, remedy = error.cause.replace(flag, term), error.remedy.replace(flag, "")
            self._set_fault(GraphlapError(cause, remedy))
            self.edited.emit(None)
            return
        self._set_fault(None)
        self.edited.emit(_as_typed(value))

    def _set_fault(self, fault: GraphlapError | None) -> None:
        self.fault = fault
        self.setProperty("invalid", fault is not None)
        self.style().polish(self)


def _as_typed(value: Any) -> Any:
    """Lists as the plan keeps them, so that a draft that is typed equals one that is read."""
    return tuple(value) if isinstance(value, list) else value
