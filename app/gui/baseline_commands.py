"""Baselines by names of the user's own: asked for, undone like a step of the editor, and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoCommand, QUndoStack

from app.gui.look.errors import errors_to
from app.gui.look.preferences import Preferences
from app.gui.panels.baseline_list import BaselineList
from app.gui.shell.frame import Frame
from exporters.types import GraphlapError

Names = Mapping[str, str]


class BaselineCommands(QObject):
    """`named` carries by key the names that were given; whose key is not there has its own."""

    named = Signal(object)
    failed = Signal(object)

    def __init__(
        self, listed: BaselineList, frame: Frame, stack: QUndoStack, preferences: Preferences
    ) -> None:
        super().__init__(frame)
        self._list, self._frame, self._stack = listed, frame, stack
        self._preferences = preferences
        listed.renamed.connect(self.rename)

    @Slot()
    def ask_for_name(self, key: str = "") -> None:
        """Bring the list up and have a name typed: of this baseline, else of the current one."""
        with errors_to(self.failed.emit):
            if not self._list.baselines:
                raise GraphlapError(
                    "there is no baseline to rename",
                    "choose a row with Ctrl+B, or a run with Ctrl+Shift+B first",
                )
            self._frame.show_key("series")
            self._list.rename(key)

    def rename(self, key: str, typed: str) -> None:
        """Call a baseline so; with nothing typed it has its own name again."""
        name = " ".join(typed.split())
        with errors_to(self.failed.emit):
            listed = {one.key: one.name for one in self._list.baselines}
            if name and name in (of for other, of in listed.items() if other != key):
                raise GraphlapError(
                    f"another baseline is called {name}", "choose a name that tells them apart"
                )
            if name == listed.get(key):
                return
            before = self._preferences.baseline_names()
            after = {other: of for other, of in before.items() if other != key}
            after |= {key: name} if name else {}
            words = f"rename baseline to {name}" if name else "baseline's own name"
            self._stack.push(_Naming(words, before, after, self._keep))

    def give_names(self) -> None:
        """Tell those that are kept from an earlier day."""
        self.named.emit(self._preferences.baseline_names())

    def _keep(self, names: Names) -> None:
        self._preferences.save_baseline_names(names)
        self.named.emit(names)


class _Naming(QUndoCommand):
    """One renaming; it keeps all names as they were before and after it."""

    def __init__(
        self, text: str, before: Names, after: Names, keep: Callable[[Names], None]
    ) -> None:
        super().__init__(text)
        self._before, self._after, self._keep = before, after, keep

    def undo(self) -> None:
        self._keep(self._before)

    def redo(self) -> None:
        self._keep(self._after)
