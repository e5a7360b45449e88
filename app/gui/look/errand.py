"""Work in another thread, whose result arrives in the window's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, Signal

from exporters.types import GraphlapError


class Errand(QObject):
    """`done` carries the errand and what `work` returned, or the GraphlapError that ended it. It
    belongs to no widget, which may be gone by then."""

    done = Signal(object, object)

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def begin(self) -> None:
        QThreadPool.globalInstance().start(self._run)

    def _run(self) -> None:
        try:
            result = self._work()
        except GraphlapError as error:
            result = error
        self.done.emit(self, result)
