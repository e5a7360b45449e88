"""Short work off the window's thread, whose answer comes back as a call in it.

One thread of its own, so that answers arrive in the order of the questions; what takes long
or computes much belongs in a process instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Qt, QThreadPool, Signal


class Background(QObject):
    """`ask(key, work, answer)`: only the newest question of a key is answered."""

    _done = Signal(str, int, object, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._newest: dict[str, int] = {}
        self._done.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def ask(
        self,
        key: str,
        work: Callable[[], Any],
        answer: Callable[[Any], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Call `work` in the thread, then `answer` with its result or `failed` with its error."""
        number = self._newest.get(key, 0) + 1
        self._newest[key] = number

        def run() -> None:
            if self._newest[key] != number:
                return
            try:
                result, error = work(), None
            except Exception as caught:
                result, error = None, caught
            self._done.emit(key, number, result, error, (answer, failed))

        self._pool.start(run)

    def close(self) -> None:
        """Drop the questions that wait and let the one in work end; no answer comes after."""
        self._newest = {key: number + 1 for key, number in self._newest.items()}
        self._pool.clear()
        self._pool.waitForDone()

    def _deliver(
        self, key: str, number: int, result: Any, error: Exception | None, then: tuple
    ) -> None:
        if self._newest.get(key) != number:
            return
        answer, failed = then
        if error is None:
            answer(result)
        else:
            failed(error)
