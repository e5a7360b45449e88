"""Whether a case needs another round: a number that is known beforehand, or what its rounds say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.cases.case import Case
from app.results.rows import Rows
from app.results.run import Run
from app.results.stopping import rounds_wanted
from app.stats.precise import Precise


class Enough(Protocol):
    """Asked of each case when the sweep begins and after each of its rounds."""

    def wanted(self, case: Case) -> int:
        """How many rounds the case is to have in all, as far as is known now."""


@dataclass(frozen=True, slots=True)
class FixedRounds:
    """As many for each case."""

    rounds: int

    def wanted(self, case: Case) -> int:
        return self.rounds


@dataclass(frozen=True, slots=True)
class PreciseRounds:
    """Until the intervals are narrow. A look reads the samples of one case, between rounds."""

    rule: Precise
    run: Run
    rows: Rows

    def wanted(self, case: Case) -> int:
        rounds = [r for r in self.run.rounds_of(case) if not r.is_tried_again]
        due = len(rounds) in self.rule.looks
        return rounds_wanted(self.rule, rounds, self.rows.summary(self.run, case) if due else None)
