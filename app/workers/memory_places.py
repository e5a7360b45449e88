"""Where a process's memory lies, changed while it is measured: which pages of the machine it has is
chance, and decides which of its data share a place in the caches of a core.

A process keeps the pages that it got first, so that processes of one model differ by several per
cent where it nearly fills such a cache. A process that has others every so often is the mean of
several.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from app.cases.process_settings import MemoryKind
from app.machine.own_memory import MemoryUse, all_but, huge_page_fraction, memory_since
from runtimes.calls import move_pages

_LARGEST_BYTES = 32 << 20
"""More than this is in no cache of a core, wherever it lies."""
_PART = 2.0
"""So many times as long as a move took is measured before the next one."""
_FIRST_S = 0.03


class MemoryPlaces:
    """Those of what a process has taken since it held `before`, as `anonymous_memory` has it, and
    uses in a turn; `count` is how many it had so far. Huge pages stay where they are."""

    def __init__(self, before: Mapping[int, int], kind: MemoryKind) -> None:
        self._before = before
        self._can_move = kind == "small" or (kind == "usual" and not huge_page_fraction())
        self._due_s, self.count = _FIRST_S, 1
        self._use: MemoryUse | None = None
        self._parts, self._others = list[tuple[int, int]](), list[tuple[int, int]]()

    def move_if_due(self, measured_s: float) -> None:
        """Between turns; `measured_s` is how long was measured so far."""
        if not self._can_move or measured_s < self._due_s:
            return
        if self._use is None:
            self._use = MemoryUse(memory_since(self._before))
            return
        if not self._parts:
            self._parts = self._use.used()
            self._others = all_but(self._parts)
        start_s = time.perf_counter()
        self._can_move = move_pages(self._parts, _LARGEST_BYTES, self._others)
        if self._can_move:
            self.count += 1
            self._due_s = measured_s + _PART * (time.perf_counter() - start_s)
