"""Undo for the editor: each step keeps the drafts before and after it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.plan.plan import Plan


class DraftStep(QUndoCommand):
    """One change; those that follow in the same field while it is typed are one step."""

    def __init__(
        self, text: str, field: str, before: Plan, after: Plan, show: Callable[[Plan], None]
    ) -> None:
        super().__init__(text)
        self._field, self._before, self._after, self._show = field, before, after, show

    def id(self) -> int:
        """Steps of one field merge; those without one never do."""
        return hash(self._field) & 0x7FFFFFF if self._field else -1

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        if not isinstance(other, DraftStep) or other._field != self._field:
            return False
        self._after = other._after
        return True

    def undo(self) -> None:
        self._show(self._before)

    def redo(self) -> None:
        self._show(self._after)
