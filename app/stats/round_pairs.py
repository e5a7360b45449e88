"""One figure of two sides round by round, and the judge of all that are compared together.

Whatever is compared, a pairing states which rounds are compared with each other and how they were
measured: two runs, a case and its baseline, a case and itself, steps of an ablation. Verdicts come
from `judge_rounds` alone, so that no comparison has a statistics of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.cases.objectives import BAND
from app.stats.quantiles import CONFIDENCE, Interval
from app.stats.verdict import (
    Difference,
    RunVariation,
    TypicalDifference,
    Verdict,
    difference,
    interval_of,
    judge,
    typical_difference,
    with_minimum_spread,
)


@dataclass(frozen=True, slots=True)
class RoundPairs:
    """Figures of the rounds of both sides, of which less is better.

    `in_turn`: figures of one place are of one pair of rounds, which saw the same machine; else the
    sides were measured apart, and `variation` is what two runs differ by. `resolution` is the
    clocks'. Comparisons of one `figure` share a minimum spread; an empty name shares none.
    """

    first: Sequence[float]
    second: Sequence[float]
    in_turn: bool = True
    figure: str = ""
    resolution: float = 0.0
    variation: RunVariation | None = None

    @property
    def difference(self) -> Difference | None:
        """None with fewer than three rounds a side."""
        return difference(self.first, self.second, self.in_turn, self.resolution, self.variation)

    @property
    def typical_difference(self) -> TypicalDifference | None:
        """First minus second, in their unit; None without a pair."""
        return typical_difference(self.first, self.second)

    def ratio_interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """Of second over first, for one comparison alone; None with fewer than three rounds."""
        change = self.difference
        return None if change is None else interval_of(change, confidence)


def pair_rounds(
    first: Mapping[int, float], second: Mapping[int, float], figure: str = "", resolution: float = 0
) -> RoundPairs:
    """The rounds that both sides have, paired by their numbers."""
    numbers = [number for number in first if number in second]
    a, b = ([side[number] for number in numbers] for side in (first, second))
    return RoundPairs(a, b, figure=figure, resolution=resolution)


def judge_rounds(
    comparisons: Sequence[RoundPairs | None],
    band: float = BAND,
    confidence: float | Sequence[float] = CONFIDENCE,
) -> list[Verdict]:
    """A verdict for each, all of them judged together; undecided where nothing is known.

    `confidence` is one level, or a sequence with a level for each.
    """
    changes = [None if pairs is None else pairs.difference for pairs in comparisons]
    figures = [pairs.figure if pairs is not None else "" for pairs in comparisons]
    spreads = with_minimum_spread(changes, figures)
    changes = [
        spread if figure else change
        for change, spread, figure in zip(changes, spreads, figures, strict=True)
    ]
    return judge(changes, band, confidence)
