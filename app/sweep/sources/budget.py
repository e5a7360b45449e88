"""How long a whole run may take: what is still begun, and what is left to a resumed run."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from app.sweep.work.base import Known, Source, Work

EXPORT_SHARE = 0.5
"""Exports that are not begun in this part of the budget are left out, so that rounds are had."""
AFTER_SHARE = 0.25
"""So much of the budget is kept at most for what comes after the rounds."""


class Budget:
    """Begins when it is made. What is in flight when it ends may end; nothing is begun that is
    likely to end later."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._begun_s = time.monotonic()
        self._seconds = seconds
        self._of_case: dict[str, float] = {}
        self._sum_s = 0.0
        self._kept_s = 0.0

    def keep(self, seconds: float) -> None:
        """Leave so long to what comes after the rounds, `AFTER_SHARE` of the whole at most."""
        self._kept_s = min(seconds, AFTER_SHARE * self._seconds)

    @property
    def is_bounded(self) -> bool:
        return self._seconds < math.inf

    @property
    def ends_s(self) -> float:
        """When it is over (monotonic seconds)."""
        return self._begun_s + self._seconds

    @property
    def left_s(self) -> float:
        return max(0.0, self.ends_s - time.monotonic())

    @property
    def export_fits(self) -> bool:
        """Whether an export may begin now."""
        return self.left_s > (1.0 - EXPORT_SHARE) * self._seconds or self._seconds == math.inf

    def round_fits(self, case_id: str, guess_s: float) -> bool:
        """Whether a round of this case would end in time, by its last, by others', by a guess."""
        usual = self._sum_s / len(self._of_case) if self._of_case else guess_s
        return self._of_case.get(case_id, usual) <= self.left_s - self._kept_s

    def spare_s(self, rounds: int, guess_s: float) -> float:
        """What is left beside so many more rounds, each as long as they usually are."""
        usual = self._sum_s / len(self._of_case) if self._of_case else guess_s
        return max(0.0, self.left_s - self._kept_s - rounds * usual)

    def learn(self, case_id: str, seconds: float) -> None:
        """A round of this case took so long."""
        self._sum_s += seconds - self._of_case.get(case_id, 0.0)
        self._of_case[case_id] = seconds


class WithinBudget:
    """`source` until the budget is over; what is settled without a process is told even then."""

    def __init__(self, source: Source, budget: Budget) -> None:
        self._source = source
        self._budget = budget

    def next(self, finished: Sequence[Work]) -> Work | None:
        work = self._source.next(finished)
        while work is not None and not self._budget.left_s and not isinstance(work, Known):
            work = self._source.next(())
        return work
