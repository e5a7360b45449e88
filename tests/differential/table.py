"""The table of a fuzzing run: for each operator its draws, disagreements and refusals."""

from __future__ import annotations

from collections import Counter

from tests.differential import nodes
from tests.differential.trial import COMPARABLE, Trial

FEW = 200


class Tally:
    """What came of the draws of one operator."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self.draws = 0
        self.last_comparable = False
        self.reasons: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()

    def add(self, trial: Trial | None) -> None:
        """Count a draw; None is one without a node."""
        self.draws += 1
        outcome = trial.outcome if trial else "no node"
        self._outcomes[outcome] += 1
        self.last_comparable = outcome in COMPARABLE
        if trial and trial.known:
            self.reasons[trial.known.reason] += 1
        if trial and "refuse" in outcome:
            self.refusals[f"{outcome}: {' '.join(trial.detail.split())[:150]}"] += 1

    def count(self, *outcomes: str) -> int:
        return sum(self._outcomes[outcome] for outcome in outcomes)

    @property
    def comparable(self) -> int:
        return self.count(*COMPARABLE)


_COLUMNS = (
    "equal",
    "known",
    "different",
    "evaluator refuses",
    "engine refuses",
    "both refuse",
    "known crash",
    "crash",
)


def table(tallies: list[Tally], seed: int) -> str:
    """The report as text."""
    heads = ("operator", "comparable", *_COLUMNS)
    rows = [
        (tally.operator, str(tally.comparable), *(str(tally.count(name)) for name in _COLUMNS))
        for tally in tallies
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [f"seed {seed}"]
    lines += [
        "  ".join(
            c.ljust(w) if p == 0 else c.rjust(w)
            for p, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (heads, *rows)
    ]
    total = sum(tally.comparable for tally in tallies)
    lines += ["", f"{total} comparable draws of {len(tallies)} operators"]
    few = [f"{tally.operator} {tally.comparable}" for tally in tallies if tally.comparable < FEW]
    lines += [f"fewer than {FEW} comparable draws: {', '.join(few) or 'none'}"]
    lines += ["not compared:", *(f"  {name}: {why}" for name, why in nodes.NOT_COMPARED.items())]
    lines += ["", "known disagreements:"]
    for tally in tallies:
        lines += [f"  {tally.operator} ({count}): {why}" for why, count in tally.reasons.items()]
    lines += ["", "most frequent refusals:"]
    for tally in tallies:
        lines += [
            f"  {tally.operator} ({count}): {why}" for why, count in tally.refusals.most_common(2)
        ]
    return "\n".join(lines) + "\n"
