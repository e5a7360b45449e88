"""When the passes of a sweep begin, so that the rounds of a case are spread over a least time.

A machine's speed wanders over minutes: rounds in a row see one state of it, and their interval
holds for that state alone.
"""

from __future__ import annotations

import time

LEAST_WAIT_S = 0.05
"""Less is not waited for."""


class Spread:
    """The first of `passes` begins at once and the last no sooner than `seconds` later, the others
    at even distances; what takes longer than its distance is not waited for."""

    def __init__(self, seconds: float = 0.0, passes: int = 1) -> None:
        self._gap_s = seconds / (passes - 1) if passes > 1 else 0.0
        self._passes = passes
        self._first: int | None = None
        self._begun_s = 0.0

    def renewed(self) -> Spread:
        """The same for other cases, which begin when their first pass does."""
        return Spread(self._gap_s * (self._passes - 1), self._passes)

    def due_s(self, number: int) -> float:
        """When the pass of this number may begin (monotonic seconds); the first that is asked for,
        which is not pass 0 of a run that is resumed, may now."""
        if self._first is None:
            self._first, self._begun_s = number, time.monotonic()
        return self._begun_s + self._gap_s * (number - self._first)

    def left_s(self, number: int) -> float:
        """How long it is at least until the last pass begins, with pass `number` the next."""
        if not self._gap_s or number >= self._passes:
            return 0.0
        if self._first is None:
            return self._gap_s * (self._passes - 1 - number)
        return max(0.0, self.due_s(self._passes - 1) - time.monotonic())

    def wait_s(self, number: int, spare_s: float) -> float:
        """How long to wait before this pass; of the time that a budget leaves to spare each of the
        distances that follow has an even part."""
        wait_s = self.due_s(number) - time.monotonic()
        distances = max(1, self._passes - number)
        return max(0.0, min(wait_s, spare_s / distances))
