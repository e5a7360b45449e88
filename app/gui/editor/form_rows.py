"""Rows of a form: a label that leads to its field, and what the term means on both."""

from __future__ import annotations

from PySide6.QtWidgets import QFormLayout, QLabel, QLineEdit, QWidget

from app.gui.look.terms import TERMS


def add_row(form: QFormLayout, text: str, field: QWidget, term: str) -> None:
    """`term` is one of the glossary's, or a sentence of its own."""
    label = QLabel(text)
    label.setBuddy(field)
    for widget in (label, field):
        widget.setToolTip(TERMS.get(term, term))
    if isinstance(field, QLineEdit):
        field.setClearButtonEnabled(True)
    form.addRow(label, field)
