"""Undo for the editor: each step keeps the drafts before and after it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.plan.plan import Plan


class DraftStep(QUndoCommand):
    """One change; those with the same `typing`, what is typed in one go, are one step.

    `typing` is None for a click, which is a step of its own.
    """

    def __init__(
        self,
        text: str,
        typing: tuple[str, int] | None,
        before: Plan,
        after: Plan,
        show: Callable[[Plan], None],
    ) -> None:
        super().__init__(text)
        self._typing, self._before, self._after, self._show = typing, before, after, show

    def id(self) -> int:
        """Qt asks only steps of the same id to merge, and never those of -1."""
        return -1 if self._typing is None else 1

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        if not isinstance(other, DraftStep) or other._typing != self._typing:
            return False
        self._after = other._after
        return True

    def undo(self) -> None:
        self._show(self._before)

    def redo(self) -> None:
        self._show(self._after)
