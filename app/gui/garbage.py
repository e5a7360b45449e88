"""Collection of cyclic garbage in the window's own thread, between two events.

Python looks for cycles in whichever thread happens to allocate. A thread that follows a run would
so find plots that the window has dropped, which Qt allows only the window's thread to destroy:
PySide keeps their addresses until that thread runs Python code again, in the middle of a paint
perhaps, and by then their parents may have destroyed them.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QAbstractEventDispatcher, QObject, Slot


class GarbageCollector(QObject):
    """From its creation until `close` the only one that collects, as often as Python would."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._events = QAbstractEventDispatcher.instance()
        self._events.awake.connect(self.collect)

    @Slot()
    def collect(self) -> None:
        """Collect the oldest generation that is due, and with it all younger ones."""
        counts, limits = gc.get_count(), gc.get_threshold()
        due = [number for number in range(3) if counts[number] > limits[number]]
        if due and counts[0] > limits[0]:
            gc.collect(due[-1])

    def close(self) -> None:
        """Hand collection back to Python, once no other thread of the window runs."""
        if not gc.isenabled():
            self._events.awake.disconnect(self.collect)
            gc.enable()
